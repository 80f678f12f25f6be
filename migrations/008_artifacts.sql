-- Files made for callers or sent by them, and the places reserved for those that are still to come.

do $$
declare
    name text;
begin
    foreach name in array array['files', 'uploads', 'artifacts'] loop
        if to_regclass(name) is not null then
            raise exception using
                errcode = 'duplicate_table',
                message = format(
                    'there is a table %I already, which no migration made, with the columns %s; it is left as it is',
                    name,
                    (select string_agg(attname, ', ' order by attnum)
                     from pg_attribute
                     where attrelid = to_regclass(name) and attnum > 0 and not attisdropped)
                ),
                hint = 'Keep what you need of it, rename it or move it to another schema, and migrate again.';
        end if;
    end loop;
end
$$;

create table files (
    file_id     text primary key,
    owner       text not null check (owner <> ''),
    purpose     text not null check (purpose in ('export', 'upload', 'import')),
    name        text not null check (name <> ''),
    mime_type   text not null,
    size_bytes  bigint not null check (size_bytes >= 0),
    sha256      text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    cell        jsonb,          -- what the export was cut to: whoever may not see all of it any more cannot open it
    fingerprint text,           -- of that permission, to tell quickly that nothing changed
    state       text not null default 'available' check (state in ('available', 'expired')),
    created_at  timestamptz not null,
    expires_at  timestamptz not null,
    check (expires_at > created_at),
    check ((purpose = 'export') = (cell is not null))
);

-- what counts against an owner's quota, and what is due to be swept
create index files_of_owner on files (owner) include (size_bytes) where state = 'available';
create index files_expiring on files (expires_at) where state = 'available';

create table uploads (
    upload_id  text primary key,
    owner      text not null check (owner <> ''),
    name       text not null check (name <> ''),
    mime_type  text not null,
    size_bytes bigint not null check (size_bytes >= 0),  -- reserved, and what must arrive
    state      text not null default 'reserved' check (state in ('reserved', 'received', 'registered', 'expired')),
    sha256     text check (sha256 ~ '^[0-9a-f]{64}$'),   -- of what arrived
    file_id    text unique references files (file_id),   -- once, however often it is asked for
    created_at timestamptz not null,
    expires_at timestamptz not null,
    check (expires_at > created_at),
    check ((state = 'registered') = (file_id is not null)),
    check (state not in ('received', 'registered') or sha256 is not null)
);

create index uploads_of_owner on uploads (owner) include (size_bytes) where state in ('reserved', 'received');
create index uploads_expiring on uploads (expires_at) where state in ('reserved', 'received');
