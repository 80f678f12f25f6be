-- What a profile shows of the scenarios under one key: an id, kind:KIND or *; the most specific key alone applies.

create function says_allow_or_deny(names jsonb) returns boolean
language sql immutable
return jsonb_typeof(names) = 'object'
    and (names - 'allow' - 'deny') = '{}'
    and (names ? 'allow') <> (names ? 'deny')
    and jsonb_typeof(coalesce(names -> 'allow', names -> 'deny')) = 'array';

create function each_says_allow_or_deny(dimensions jsonb) returns boolean
language sql immutable
return case
    when jsonb_typeof(dimensions) = 'object'
    then not exists (select from jsonb_each(dimensions) as each (key, names) where says_allow_or_deny(names) is not true)
    else false
end;

create table profile_grants (
    profile      text not null references profiles (name) on update cascade on delete cascade,
    scenario     text not null check (scenario <> ''),
    domains      jsonb check (says_allow_or_deny(domains)),  -- {"allow": [...]} or {"deny": [...]}; null: all
    dimensions   jsonb not null default '{}',                -- the same by dimension
    open_domains text[] not null default '{}',               -- shown although they lack a restricted dimension
    primary key (profile, scenario),
    check (each_says_allow_or_deny(dimensions))
);
