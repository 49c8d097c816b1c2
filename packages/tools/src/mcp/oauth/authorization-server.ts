import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthServerInfo,
  type OAuthClientInformationMixed,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import type { LoginChallenge } from '../../contract/mcp-error.ts';
import type { McpLogin } from '../../contract/mcp-oauth.ts';
import type { McpHttpServer } from '../../contract/mcp-server.ts';
import type { LoginFetch } from './guarded-fetch.ts';

/** The authorization server of an MCP server, as the two servers describe it. */
export interface AuthorizationServer {
  readonly url: string;
  readonly issuer: string;
  /** Undefined for an old server that publishes no metadata. The endpoints then have fixed names. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The identifier for which tokens are issued, as the server writes it. */
  readonly resource: string;
  /** The scopes that the MCP server names in its metadata. */
  readonly scopes: readonly string[];
}

/** Reads the metadata of the MCP server and of its authorization server. */
export async function findAuthorizationServer(
  server: McpHttpServer,
  { metadataUrl }: LoginChallenge,
  fetchFn: LoginFetch,
): Promise<AuthorizationServer> {
  const serverUrl = new URL(server.http.url);
  const info = await discoverOAuthServerInfo(serverUrl, {
    ...(metadataUrl && { resourceMetadataUrl: metadataUrl }),
    fetchFn,
  });
  const { authorizationServerUrl: url, authorizationServerMetadata, resourceMetadata } = info;
  const resource = resourceUrlFromServerUrl(serverUrl);
  const named = resourceMetadata?.resource;
  if (named !== undefined && !isResourceOf(resource, named))
    throw new Error('its metadata describes a different server');
  const metadata =
    authorizationServerMetadata ??
    (resourceMetadata && (await discoverAuthorizationServerMetadata(url, { fetchFn })));
  assertSecureCodes(metadata);
  return {
    ...{ url, metadata, issuer: metadata?.issuer ?? url },
    resource: named ?? resource.href,
    scopes: resourceMetadata?.scopes_supported ?? [],
  };
}

function isResourceOf(requestedResource: URL, configuredResource: string): boolean {
  if (!URL.canParse(configuredResource)) return false;
  return checkResourceAllowed({ requestedResource, configuredResource });
}

/** A server must prove that it protects codes with S256. Otherwise a stolen code could be used. */
function assertSecureCodes(metadata: AuthorizationServerMetadata | undefined): void {
  const methods = metadata?.code_challenge_methods_supported;
  if (metadata !== undefined && methods?.includes('S256') !== true)
    throw new Error('its authorization server does not support PKCE with S256');
}

/** True if two issuers are the same server. One final slash makes no difference. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}

/**
 * Throws if a login page can belong to another party. A hostile server could otherwise name the page of an honest
 * authorization server beside its own token endpoint, and would get the code of the honest server (mix-up). The page
 * must belong to the MCP server, to the issuer or to the token endpoint. A page with another host is allowed if its
 * answer names the issuer (RFC 9207), because this program then compares the names.
 */
export async function assertOwnPage(
  { http }: McpHttpServer,
  { issuer, metadata }: AuthorizationServer,
  page: URL,
  namesIssuer: boolean,
): Promise<void> {
  const own = [String(http.url), issuer, metadata?.token_endpoint ?? issuer].map(
    (url) => new URL(url),
  );
  if (namesIssuer) return;
  const site = await siteOf(page);
  for (const url of own) if ((await siteOf(url)) === site) return;
  const hosts = [...new Set(own.map(({ host }) => host))].join(', ');
  throw new Error(`its login page belongs to ${page.host}, and not to ${hosts}`);
}

/**
 * Returns the registrable domain of an address. Below a public suffix such as `co.uk` or `workers.dev`, each name has
 * an owner of its own. An address without a registrable domain is a site of its own.
 */
async function siteOf({ host, hostname }: URL): Promise<string> {
  const { getDomain } = await import('tldts');
  return getDomain(hostname.replace(/\.$/, ''), { allowPrivateDomains: true }) ?? host;
}

/** Returns a field of the metadata that the SDK does not declare. */
export function extraEndpoint(
  { metadata }: AuthorizationServer,
  name: 'device_authorization_endpoint' | 'revocation_endpoint',
): string | undefined {
  const value = (metadata as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** Converts a stored login to the form of the SDK. */
export function clientInformation(login: McpLogin): OAuthClientInformationMixed {
  return {
    client_id: login.clientId,
    ...(login.clientSecret !== undefined && { client_secret: login.clientSecret }),
    ...(login.authMethod !== undefined && { token_endpoint_auth_method: login.authMethod }),
  } as OAuthClientInformationMixed;
}

const maxScopes = 200;

/** Joins lists of scopes. Returns undefined if there is none. */
export function joinScopes(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => list?.split(/\s+/) ?? []));
  scopes.delete('');
  return scopes.size === 0 ? undefined : [...scopes].slice(0, maxScopes).join(' ');
}
