// The identity provider of the tests, as TIEOUT_PROVIDER tells: its port, its keys and which of them signs, what it
// issues tokens for and for how long, and how many of the first ones have expired already. Whoever logs in, with any
// password, has the groups of their name.
import { Provider, errors } from "oidc-provider";

const { port, keys, signs, resources, lifetime, expired } = JSON.parse(process.env.TIEOUT_PROVIDER);
let late = expired;
const GROUPS = { ann: ["finance"], accountant: ["finance"] };
const service = (id) => ({
  client_id: id,
  client_secret: "of the tests, of the tests alone",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
});

const provider = new Provider(`http://127.0.0.1:${port}`, {
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

provider.listen(port, "127.0.0.1");
