// The identity provider of the tests, as TIEOUT_PROVIDER tells: its port, its keys and which of them signs, what it
// issues tokens for and for how long, how many of the first ones have expired already, and whose shape its discovery
// document and its access tokens have. Whoever logs in, with any password, has the groups of their name.
import { createServer } from "node:http";
import { Provider, errors } from "oidc-provider";

const { port, keys, signs, resources, lifetime, expired, shape } = JSON.parse(process.env.TIEOUT_PROVIDER);
// Where the issuer of each provider lies, and how it writes an access token: docs/operations/identity.md has its sources.
const SHAPES = {
  "": { path: "", write: () => {} },
  keycloak: {
    path: "/realms/tieout",
    write(header, { client_id, ...payload }) {
      header.typ = "JWT";
      return { ...payload, typ: "Bearer", azp: client_id };
    },
  },
  okta: {
    path: "/oauth2/default",
    write(header, { client_id, scope, ...payload }) {
      header.typ = undefined;
      return { ...payload, ver: 1, cid: client_id, scp: scope.split(" ") };
    },
  },
  auth0: {
    path: "/",
    write(header, { client_id, aud, ...payload }) {
      header.typ = "JWT";
      return { ...payload, azp: client_id, aud: [aud, `${payload.iss}userinfo`] };
    },
  },
};
const { path, write } = SHAPES[shape];
let late = expired;
const GROUPS = { ann: ["finance"], accountant: ["finance"] };
const service = (id) => ({
  client_id: id,
  client_secret: "of the tests, of the tests alone",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
});

const provider = new Provider(`http://127.0.0.1:${port}${path}`, {
  clients: [service("accountant"), service("stranger")],
  jwks: { keys },
  cookies: { keys: ["of the tests"] },
  scopes: ["openid", "mcp:read", "other"],
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed("refresh_token"),
  extraTokenClaims: (ctx, token) => ({ groups: GROUPS[token.accountId ?? token.clientId] ?? [] }),
  formats: {
    customizers: {
      jwt(ctx, token, parts) {
        if (late-- > 0) parts.payload.exp = parts.payload.iat - 60;
        parts.header = {};
        parts.payload = write(parts.header, parts.payload) ?? parts.payload;
      },
    },
  },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo(ctx, named) {
        if (!resources.includes(named)) throw new errors.InvalidTarget();
        return {
          scope: "mcp:read other",
          audience: named,
          accessTokenFormat: "jwt",
          accessTokenTTL: lifetime,
          jwt: { sign: { alg: keys.find((key) => key.kid === signs).alg, kid: signs } },
        };
      },
    },
  },
});

const answer = provider.callback();
const prefix = path.replace(/\/$/, "");
createServer((request, response) => {
  if (request.url.startsWith(prefix)) {
    request.originalUrl = request.url;
    request.url = request.url.slice(prefix.length);
  }
  answer(request, response);
}).listen(port, "127.0.0.1");
