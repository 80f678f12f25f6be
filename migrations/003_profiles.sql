-- Profiles, where SVC_PROFILES is database: what profiles.yaml says where it is file.

create table profiles (
    name       text primary key check (name <> ''),
    operations boolean not null default false  -- whether loads and feeds are shown whole
);
