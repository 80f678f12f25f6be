-- What each caller's token last said: a download carries none, and is held against this and today's profiles.

create table principals (
    subject text primary key check (subject <> ''),
    claims  jsonb not null check (jsonb_typeof(claims) = 'object'),  -- name to values, those that profiles ask for
    seen_at timestamptz not null
) with (fillfactor = 70);  -- written at every call: the new version of a row fits beside the old one
