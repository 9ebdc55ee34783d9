-- The shell's own commands: files out and in, dumps, backups.
create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into t select i, 'text, "' || i || '"' from n;
.mode csv
.once import.csv
select * from t;
create table u(a integer, b text);
.import import.csv u
.once import.dump
.dump t
.save import-copy.db
.open import-copy.db
drop table t;
.read import.dump
.mode list
select 'same' where not exists (select * from t except select * from u);
.backup import-back.db
.open import-back.db
select 'checks passed' where (select count(*) from t) = 300 and (select count(*) from u) = 300;
.sha3sum
.schema
.tables
.open import.db
