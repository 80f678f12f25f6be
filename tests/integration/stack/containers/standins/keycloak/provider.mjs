// An identity provider at the paths of Keycloak, for clients that ask in their own name. It has the audience and the
// life of tokens from the realm file that the stack mounts, the issuer from the settings of Keycloak. Its clients and
// their groups are those of the tests.
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { Provider, errors } from "oidc-provider";

const text = readFileSync("/opt/keycloak/data/import/tieout-realm.json", "utf8");
const realm = JSON.parse(text.replaceAll(/\$\{(\w+)\}/g, (_, name) => process.env[name]));
const prefix = `/realms/${realm.realm}`;
const protocol = "/protocol/openid-connect";
const resource = realm.clients.find((client) => client.bearerOnly).attributes.resource_url;
const scopes = realm.clientScopes.map((scope) => scope.name);
const { clients } = JSON.parse(readFileSync("/opt/keycloak/lib/clients.json", "utf8"));

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const kid = `made ${Date.now()}`;
const signing = { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: realm.defaultSignatureAlgorithm };

const provider = new Provider(`${process.env.KC_HOSTNAME}${prefix}`, {
  clients: Object.entries(clients).map(([id, { secret }]) => ({
    client_id: id,
    client_secret: secret,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: "client_secret_post",
  })),
  jwks: { keys: [signing] },
  cookies: { keys: [kid] },
  scopes,
  routes: { token: `${protocol}/token`, jwks: `${protocol}/certs`, authorization: `${protocol}/auth` },
  extraTokenClaims: (ctx, token) => ({ groups: clients[token.clientId].groups }),
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo(ctx, named, client) {
        if (named !== resource) throw new errors.InvalidTarget();
        return {
          scope: scopes.join(" "),
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: clients[client.clientId].lifetime ?? realm.accessTokenLifespan,
          jwt: { sign: { alg: signing.alg, kid } },
        };
      },
    },
  },
});
provider.proxy = true;
const answer = provider.callback();
http
  .createServer((request, response) => {
    if (request.url.startsWith(`${prefix}/`)) {
      request.originalUrl = request.url;
      request.url = request.url.slice(prefix.length);
      answer(request, response);
    } else {
      response.writeHead(404).end();
    }
  })
  .listen(8080);
http.createServer((request, response) => response.writeHead(200).end()).listen(9000); // the port of its health
