# As the image of nginx: templates become configuration files, with the variables that the filter lets through.
set -eu
names=$(env | sed -n 's/=.*//p' | grep "$NGINX_ENVSUBST_FILTER" | sed 's/.*/${&}/' | tr '\n' ' ')
for template in /etc/nginx/templates/*.template; do
  envsubst "$names" < "$template" > "$NGINX_ENVSUBST_OUTPUT_DIR/$(basename "$template" .template)"
done
exec "$@"
