import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { findUnknownOption, type OptionNames } from '@millrace/core';
import type { HttpRequest, IncomingRequest, RequestAccess } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Grant, Scope } from '../../contract/service.ts';
import { canonicalPath, readTarget } from '../router.ts';

export type Authorize = (
  request: IncomingRequest,
) => RequestAccess | undefined | Promise<RequestAccess | undefined>;

/**
 * Calls the application's `authorize` and returns the user of a request. Returns undefined if the request is
 * not authorized.
 */
export async function authorizedBy(
  authorize: Authorize | undefined,
  request: HttpRequest,
): Promise<RequestAccess | undefined> {
  const access = await authorize?.(incomingRequest(request));
  // Applications without TypeScript may return false, for example with `isSignedIn && { user }`.
  return access ? checkedAccess(access) : undefined;
}

const accessFields: OptionNames<RequestAccess> = { user: true, scope: true, isReadOnly: true };

/**
 * Checks the object that `authorize` returned. It refuses unknown fields, because a misspelled `isReadOnly`
 * would otherwise give the user write access.
 */
function checkedAccess(given: object | string | number | boolean): RequestAccess {
  const { user, scope, isReadOnly = false } = given as Partial<RequestAccess>;
  const isKnown = typeof given === 'object' && findUnknownOption(given, accessFields) === undefined;
  const isUser = typeof user === 'string' && user !== '';
  if (isKnown && isUser && isScope(scope) && typeof isReadOnly === 'boolean')
    return { user, scope, isReadOnly };
  const message =
    'Cannot decide about the request: `authorize` must return { user, scope?, isReadOnly? } with a known scope, or undefined';
  throw new ServerError('internal', message);
}

function isScope(scope: unknown): scope is Scope | undefined {
  if (scope === undefined) return true;
  const { kind, ...rest } = (scope ?? {}) as Readonly<Record<string, unknown>>;
  const fields = { all: [], agent: ['agentId'], task: ['taskId'], user: ['user'] };
  const names = typeof kind === 'string' && Object.hasOwn(fields, kind) && fields[kind as 'all'];
  if (!names || Object.keys(rest).length !== names.length) return false;
  return names.every((name) => typeof rest[name] === 'string');
}

/**
 * Returns true if `authorize` admits the same user to the same resources as before. `isReadOnly` makes no
 * difference: an open stream only reads, and the server checks it again before a request writes.
 */
export function isSameUser(
  now: RequestAccess | undefined,
  before: RequestAccess,
): now is RequestAccess {
  if (now === undefined || now.user !== before.user) return false;
  return isDeepStrictEqual(grantOf(now).scope, grantOf(before).scope);
}

/** Returns the rights of a user of the application. */
export function grantOf({
  user,
  scope = { kind: 'user', user },
  isReadOnly = false,
}: RequestAccess): Grant {
  return { scope, isReadOnly, expiresAt: null, isAgentKey: false };
}

/** Converts a request to the form that the application's callbacks receive. */
export function incomingRequest({
  method,
  url,
  basePath,
  headers,
  address,
  source,
}: HttpRequest): IncomingRequest {
  const { path = '/' } = readTarget(url, basePath) ?? {};
  const peerAddress = address === 'unknown' ? undefined : address;
  return { method, path: canonicalPath(path), headers: toHeaders(headers), peerAddress, source };
}

function toHeaders(headers: IncomingHttpHeaders): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) all.append(name, one);
  return all;
}
