import type { Clock } from '@millrace/providers';
import type { AskHost } from '../command/ask-user.ts';
import { askYesNo } from '../command/ask-user.ts';
import type { Env } from '../contract/host.ts';
import { testKey } from '../doctor/check-endpoints.ts';
import { askLine } from '../first-contact/ask-line.ts';
import { openBrowser } from '../mcp/server-login.ts';
import { storeKey } from '../models/key-store.ts';
import { type Vendor, vendors } from '../models/vendors.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { openRouterLogin } from './openrouter-login.ts';

export interface LogInOptions {
  readonly env: Env;
  /** The folder of the user. A program in it is never taken for the browser. */
  readonly cwd: string;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** The address of OpenRouter. Default: `https://openrouter.ai`. */
  readonly openRouterUrl?: string | undefined;
  /** True if the user can paste a code. Default: true if the input is a terminal. */
  readonly canPaste?: boolean | undefined;
  /** Time limit for the user. Default: 10 minutes. */
  readonly timeoutMs?: number | undefined;
}

/** The outcome of a login. `back`: the user typed nothing, or the key does not work. */
export type LoggedIn = { readonly env: Env; readonly model: string } | 'back' | 'cancelled';

export const openRouterKey = 'OPENROUTER_API_KEY';

/**
 * Logs in to OpenRouter in the browser. Then tests the key and stores it.
 */
export async function logInToOpenRouter(
  { env, cwd, clock, fetch, openRouterUrl, timeoutMs, canPaste }: LogInOptions,
  host: AskHost,
): Promise<LoggedIn> {
  const isPasteable = canPaste ?? host.stdin.isTTY === true;
  const write = (text: string) => writeText(host.stdout, text);
  let isBack = false;
  const askCode = async (signal: AbortSignal) => {
    const asked = { ...host, signal: AbortSignal.any([host.signal, signal]) };
    const question = 'Waiting for the browser, or paste here (Enter goes back): ';
    const typed = await askLine(asked, question, { isHidden: true });
    isBack = typed === '';
    return isBack ? undefined : typed;
  };
  const key = await openRouterLogin({
    ...{ fetch, timeoutMs, signal: host.signal, baseUrl: openRouterUrl },
    openPage: async (url, start) => {
      write(`${pageText(url, isPasteable)}\n`);
      await openBrowser(start, env, cwd);
    },
    onProblem: (text) => write(`${text}\n`),
    ...(isPasteable && { askCode }),
  });
  if (key === undefined) return isBack ? 'back' : 'cancelled';
  const vendor = vendors.find(({ name }) => name === 'openrouter') as Vendor;
  const withKey = { ...env, [openRouterKey]: key };
  const tested = await testKey(vendor, { env: withKey, clock, fetch });
  write(`${tested.text}.\n`);
  if (tested.state === 'fail') return 'back';
  if (tested.state === 'warn') {
    const isWanted = await askYesNo(host, 'The key is not tested. Store and use it?');
    if (isWanted !== true) return isWanted === undefined ? 'cancelled' : 'back';
  }
  const path = await storeKey(env, openRouterKey, key, { isLogin: true });
  write(
    `Logged in to OpenRouter. The key is in ${path}. Only you can read this file.\nTo revoke it: ${vendor.keyPage}\n`,
  );
  return { env: withKey, model: `openrouter/${vendor.models[0]}` };
}

function pageText(url: string, isPasteable: boolean): string {
  const paste = isPasteable
    ? '\nIf the browser is on another machine, paste the address of its last page here.'
    : '';
  return `Log in to OpenRouter. Open this page if it does not open:\n${url}${paste}`;
}
