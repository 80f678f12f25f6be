-- Every change of a permission: for auditors, and so that servers see by one number whether they must read profiles anew.

create table profile_changes (
    revision   bigint generated always as identity primary key,
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null default session_user,
    part       text not null,
    operation  text not null,
    before     jsonb,
    after      jsonb
);

create function record_profile_change() returns trigger
language plpgsql
as $$
begin
    -- one transaction after the other, so that a number once seen is never followed by a smaller one
    lock table profile_changes in share row exclusive mode;
    insert into profile_changes (part, operation, before, after)
    values (
        tg_table_name,
        lower(tg_op),
        case when tg_op in ('UPDATE', 'DELETE') then to_jsonb(old) end,
        case when tg_op in ('INSERT', 'UPDATE') then to_jsonb(new) end
    );
    return null;
end
$$;

create trigger changes after insert or update or delete on profiles
for each row execute function record_profile_change();
create trigger changes after insert or update or delete on profile_grants
for each row execute function record_profile_change();
create trigger changes after insert or update or delete on profile_assignments
for each row execute function record_profile_change();

create trigger emptied after truncate on profiles
for each statement execute function record_profile_change();
create trigger emptied after truncate on profile_grants
for each statement execute function record_profile_change();
create trigger emptied after truncate on profile_assignments
for each statement execute function record_profile_change();
