import { createHash, randomBytes } from 'node:crypto';
import { parseJson } from '@millrace/core';
import { ConfigError } from '../contract/errors.ts';

/** Options of a login with OpenRouter. */
export interface OpenRouterLoginOptions {
  /** Shows the login page to the user. The address `start` leads to it: see `RedirectListener.startUri`. */
  readonly openPage: (url: string, start: string) => Promise<void>;
  /**
   * Asks the user for the code, or for the address to which the browser returned. Undefined means that the user
   * cancels. The signal aborts when the browser has returned by itself. Default: the user cannot type a code.
   */
  readonly askCode?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Called with a text about an answer that does not count. */
  readonly onProblem: (text: string) => void;
  readonly signal: AbortSignal;
  /** Time limit for the user. Default: 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** The address of OpenRouter. Default: `https://openrouter.ai`. */
  readonly baseUrl?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const defaultTimeoutMs = 600_000;
const exchangeTimeoutMs = 30_000;
const maxAnswerBytes = 64 * 1024;
const maxProblemLength = 60;

/**
 * Logs in to OpenRouter with OAuth and PKCE, as its documentation describes it for all programs. Returns the key
 * that OpenRouter creates for this machine, or undefined if the user cancels. OpenRouter knows no parameter
 * `state`, so the state is a part of the address to which the browser returns.
 */
export async function openRouterLogin(
  options: OpenRouterLoginOptions,
): Promise<string | undefined> {
  const { baseUrl = 'https://openrouter.ai', timeoutMs = defaultTimeoutMs } = options;
  const { listenForRedirect } = await import('@millrace/tools/mcp');
  const limit = AbortSignal.timeout(timeoutMs);
  const isOver = new AbortController();
  const signal = AbortSignal.any([options.signal, limit, isOver.signal]);
  const verifier = randomBytes(32).toString('base64url');
  const listener = await listenForRedirect({ host: 'localhost', stateIn: 'path' });
  try {
    const page = new URL('/auth', baseUrl);
    page.searchParams.set('callback_url', listener.redirectUri);
    page.searchParams.set('code_challenge', challengeOf(verifier));
    page.searchParams.set('code_challenge_method', 'S256');
    await options.openPage(page.href, listener.startUri(page.href));
    const returned = listener.returned(signal).then(codeOf);
    // The user can cancel first. The wait then ends with an error that nobody needs.
    returned.catch(() => {});
    const typed = askForCode(options, listener.redirectUri, signal);
    typed.catch(() => {});
    const code = await Promise.race([returned, typed]);
    if (code === undefined) return undefined;
    return await exchangeCode(code, verifier, { ...options, baseUrl });
  } catch (error) {
    options.signal.throwIfAborted();
    if (limit.aborted) throw loginFailed(`nobody finished it within ${timeoutMs / 1000} s`);
    throw error;
  } finally {
    isOver.abort();
    await listener.close();
  }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/** Returns the code with which the browser returned. */
function codeOf(parameters: URLSearchParams): string {
  const code = parameters.get('code') ?? '';
  if (isCode(code)) return code;
  const error = parameters.get('error') ?? 'no code';
  throw loginFailed(`the login page refused it (${plainText(error)})`);
}

/** Asks until the user types a code, or cancels. Never resolves if the user cannot type. */
async function askForCode(
  { askCode, onProblem }: OpenRouterLoginOptions,
  redirectUri: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const never = Promise.withResolvers<never>().promise;
  if (askCode === undefined) return never;
  for (;;) {
    const typed = await askCode(signal);
    // The browser has returned, or the time is over. The other side of the race has the outcome.
    if (signal.aborted) return never;
    if (typed === undefined) return undefined;
    const code = typedCode(typed.trim(), redirectUri);
    if (typeof code === 'string') return code;
    onProblem(code.problem);
  }
}

/** Returns the code in a typed text: a code, or the address to which the browser returned. */
function typedCode(typed: string, redirectUri: string): string | { readonly problem: string } {
  if (!/^https?:/i.test(typed))
    return isCode(typed) ? typed : { problem: 'This is not a code. Paste the whole address.' };
  const url = URL.parse(typed);
  const expected = new URL(redirectUri);
  if (url?.host !== expected.host || url.pathname !== expected.pathname)
    return { problem: 'This address does not belong to this login. Use the page from above.' };
  return codeOf(url.searchParams);
}

function isCode(text: string): boolean {
  return /^[\w.~+/=-]{1,1024}$/.test(text);
}

/** Exchanges the code for a key. An error contains nothing of the answer, because the answer can contain a key. */
async function exchangeCode(
  code: string,
  verifier: string,
  { baseUrl, fetch = globalThis.fetch, signal }: OpenRouterLoginOptions,
): Promise<string> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(exchangeTimeoutMs)]);
  let response: Response;
  let text: string | undefined;
  try {
    response = await fetch(new URL('/api/v1/auth/keys', baseUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ code, code_verifier: verifier, code_challenge_method: 'S256' }),
      // A redirect could send the code and the verifier to another host.
      redirect: 'manual',
      signal: limit,
    });
    text = await boundedText(response);
  } catch (error) {
    signal.throwIfAborted();
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    const why = limit.aborted ? 'it does not answer' : String(cause?.code ?? 'no connection');
    throw loginFailed(`OpenRouter cannot be reached (${plainText(why)})`);
  }
  const { status } = response;
  if (status !== 200) throw loginFailed(`OpenRouter refused the code (status ${status})`);
  const parsed = parseJson(text ?? '');
  const { key } = (parsed.ok ? (parsed.value ?? {}) : {}) as { readonly key?: unknown };
  if (typeof key !== 'string' || !/^[\x21-\x7e]{8,512}$/.test(key))
    throw loginFailed('the answer of OpenRouter has no key');
  return key;
}

/** Returns the body of a response, or undefined if it is too long. */
async function boundedText({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxAnswerBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function plainText(text: string): string {
  return text.replace(/[^\w .:-]/g, '?').slice(0, maxProblemLength);
}

function loginFailed(why: string): ConfigError {
  return new ConfigError(`Cannot log in to OpenRouter: ${why}. Try again, or enter an API key`);
}
