-- What list_load_history and the daemon ask of the history of loads.

-- the latest attempts of each feed that a caller may see, with all that they are chosen by: an old period is found among
-- a million attempts without reading one of them
create index load_attempts_asked on load_attempts (binding, status, ordinal desc)
include (target, first_day, last_day, periods);

-- the last slot of its schedule that a feed answered
create index load_attempts_due on load_attempts (binding, due_at desc) where due_at is not null;

-- attempts that have not ended
create index load_attempts_running on load_attempts (ordinal) where status = 'running';
