-- How many rows each load rejected, by column and reason; no value of any row.

alter table load_attempts add column rejected jsonb not null default '{}';
