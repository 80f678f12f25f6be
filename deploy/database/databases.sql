-- Two databases with an owner each, made when the volume is empty: the service's own and the identity provider's.
\getenv tieout_password TIEOUT_DATABASE_PASSWORD
\getenv identity_password IDENTITY_DATABASE_PASSWORD
create role tieout login password :'tieout_password';
create role identity login password :'identity_password';
create database tieout owner tieout encoding 'UTF8' locale 'C' template template0;  -- as the embedded one
create database identity owner identity encoding 'UTF8' template template0;
revoke connect, temporary on database tieout, identity from public;
