import { fault, faultBy, WireFault } from '../errors/wire-fault.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkSecret } from '../wire/api-options.ts';

/**
 * An OAuth token of Google Cloud, or a function that returns the current token. The function is called before
 * each request. Default: the package `google-auth-library` finds the credentials of this machine.
 */
export type GoogleAccessToken = string | (() => string | Promise<string>) | undefined;

/** Returns a function that adds the token to a request. */
export function googleAuthorizer(
  accessToken: GoogleAccessToken,
): (request: HttpRequest) => Promise<HttpRequest> {
  let machine: Promise<TokenSource> | undefined;
  const current = async (): Promise<unknown> => {
    if (typeof accessToken === 'function') return accessToken();
    if (accessToken !== undefined) return checkSecret('accessToken', accessToken);
    machine ??= findMachineCredentials();
    return (await machine).getAccessToken();
  };
  return async (request) => {
    const secret = checkSecret('accessToken', await readToken(current));
    if (!secret) throw fault('auth', 'there is no token: accessToken is empty');
    return {
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${secret}` },
      secrets: [...request.secrets, secret],
    };
  };
}

interface TokenSource {
  getAccessToken(): Promise<string | null | undefined>;
}

/**
 * The package name is a variable. Bundlers therefore do not require a package that most programs do not need.
 */
const packageName = 'google-auth-library';

async function findMachineCredentials(): Promise<TokenSource> {
  const { GoogleAuth } = await loadPackage();
  return new GoogleAuth({ scopes: ['https://www.googleapis.com/auth/cloud-platform'] });
}

async function loadPackage(): Promise<typeof import('google-auth-library')> {
  try {
    return await import(packageName);
  } catch (cause) {
    const how = `pass accessToken, or install the package that finds it: npm install ${packageName}`;
    throw faultBy(cause, 'auth', `there is no token: ${how}`);
  }
}

async function readToken(current: () => Promise<unknown>): Promise<unknown> {
  try {
    return await current();
  } catch (cause) {
    if (cause instanceof WireFault) throw cause;
    throw faultBy(cause, 'auth', 'the access token cannot be read');
  }
}
