-- Who holds a profile: a subject, or whoever carries every one of some claims.

create table profile_assignments (
    profile text not null references profiles (name) on update cascade on delete cascade,
    subject text,
    claims  jsonb not null default '{}',  -- {"groups": "finance"}
    unique nulls not distinct (profile, subject, claims),
    check (subject is not null or claims <> '{}'),
    check (jsonb_typeof(claims) = 'object'),
    check (not jsonb_path_exists(claims, 'strict $.* ? (@.type() != "string")'))
);
