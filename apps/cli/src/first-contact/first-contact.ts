import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type AskHost, askYesNo } from '../command/ask-user.ts';
import { userConfigFolder } from '../config/config-paths.ts';
import { writeAtomically } from '../config/folders-file.ts';
import type { Config } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { testKey } from '../doctor/check-endpoints.ts';
import { makeFolder } from '../make-folder.ts';
import { storeKey } from '../models/key-store.ts';
import {
  type FoundServer,
  findLocalServers,
  type LocalServerOptions,
} from '../models/local-servers.ts';
import { hasVendorKey, type Vendor, vendors } from '../models/vendors.ts';
import { oneLine } from '../text/cells/printable.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { askLine } from './ask-line.ts';

interface FirstContactOptions extends Omit<LocalServerOptions, 'env'> {
  readonly config: Pick<Config, 'model'>;
  readonly env: Env;
  /** The folder of the user. Default: the current folder. */
  readonly cwd?: string | undefined;
  /** The address of OpenRouter. Default: `https://openrouter.ai`. */
  readonly openRouterUrl?: string | undefined;
}

/** The choice of the user: a changed environment with a key, or a model, or neither for the demo. */
export interface FirstChoice {
  readonly env: Env;
  readonly model?: string | undefined;
}

/** An entry of the list. */
interface Offer {
  readonly text: string;
  /** Prepares the choice. Returns undefined if the user returns to the list, and `cancelled` to quit. */
  readonly choose: () => Promise<FirstChoice | 'cancelled' | undefined>;
}

/**
 * Returns the servers to offer if there is no model yet. Returns undefined if a model is configured, a key is
 * set, or a server of the user answers, because Millrace uses them without a question.
 */
export async function findOffers(
  options: FirstContactOptions,
): Promise<readonly FoundServer[] | undefined> {
  const { config, env } = options;
  if (config.model?.trim() || hasVendorKey(env)) return undefined;
  const found = await findLocalServers(options);
  return found.some(
    ({ isOwn, refusal, models }) => isOwn && (refusal !== undefined || models.length > 0),
  )
    ? undefined
    : found;
}

/**
 * Asks for a model at the first start: a local server that answers, a login, a key of a vendor, or the demo. It tests a
 * key with one request and stores it. Returns the unchanged environment if a model is known already, and
 * undefined if the user cancels.
 */
export async function firstContact(
  options: FirstContactOptions,
  host: AskHost,
): Promise<FirstChoice | undefined> {
  const { env } = options;
  const servers = await findOffers(options);
  if (servers === undefined) return { env };
  const offers = [
    ...servers
      .filter(({ models }) => models.length > 0)
      .map((found) => serverOffer(found, env, host)),
    loginOffer(options, host),
    ...vendors
      .filter(({ models }) => models.length > 0)
      .map((vendor) => keyOffer(vendor, options, host)),
    demoOffer(env),
  ];
  const rows = offers.map(({ text }, index) => `  ${String(index + 1).padStart(2)}  ${text}`);
  writeText(
    host.stdout,
    `Welcome to Millrace. There is no model yet: no API key is set, and no\nmodel server of yours answers on this machine.\n\n${rows.join('\n')}\n\n`,
  );
  for (;;) {
    const typed = await askLine(host, `Number (Enter starts the demo, Esc quits): `);
    if (typed === undefined) return undefined;
    const offer = offers[typed === '' ? offers.length - 1 : Number(typed) - 1];
    if (offer === undefined) {
      writeText(host.stdout, `Type a number from 1 to ${offers.length}.\n`);
      continue;
    }
    const chosen = await offer.choose();
    if (chosen === 'cancelled') return undefined;
    if (chosen !== undefined) return chosen;
  }
}

function demoOffer(env: Env): Offer {
  return {
    text: 'demo: a script instead of a model, without a network',
    choose: async () => ({ env, model: 'demo' }),
  };
}

/** Maximum number of shown characters of a model id. A server of another user can list any text. */
const maxIdLength = 200;

function serverOffer({ server, baseUrl, models }: FoundServer, env: Env, host: AskHost): Offer {
  const [first] = models;
  const more = models.length > 1 ? ` and ${models.length - 1} more` : '';
  const at = new URL(baseUrl).host;
  const model = `${server.name}/${first?.id}`;
  return {
    text: `${server.title} at ${at}: ${oneLine(first?.id ?? '', maxIdLength)}${more}. Check that you started this server`,
    choose: async () => {
      await rememberModel(model, env, host);
      return { env, model };
    },
  };
}

function loginOffer(options: FirstContactOptions, host: AskHost): Offer {
  return {
    text: 'OpenRouter: log in with the browser',
    choose: async () => {
      try {
        const { logInToOpenRouter } = await import('../login/log-in.ts');
        const { cwd = process.cwd() } = options;
        const done = await logInToOpenRouter({ ...options, cwd, canPaste: true }, host);
        return done === 'back' ? undefined : done;
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        writeText(host.stdout, `${error.message}.\n`);
        return undefined;
      }
    },
  };
}

function keyOffer(
  vendor: Vendor,
  { env, clock, fetch }: FirstContactOptions,
  host: AskHost,
): Offer {
  const { name, keyPage, keyVariables, models } = vendor;
  const [variable = ''] = keyVariables;
  return {
    text: `${name}: enter an API key (from ${keyPage})`,
    choose: async () => {
      const key = await askLine(host, `Key of ${name}, or Enter to go back: `, { isHidden: true });
      if (key === undefined) return 'cancelled';
      if (key === '') return undefined;
      const withKey = { ...env, [variable]: key };
      const tested = await testKey(vendor, { env: withKey, clock, fetch });
      writeText(host.stdout, `${tested.text}.\n`);
      if (tested.state === 'fail') return undefined;
      if (tested.state === 'warn') {
        const isWanted = await askYesNo(host, 'The key is not tested. Store and use it?');
        if (isWanted === undefined) return 'cancelled';
        if (!isWanted) return undefined;
      }
      const path = await storeKey(env, variable, key);
      writeText(host.stdout, `Stored the key in ${path}. Only you can read this file.\n`);
      return { env: withKey, model: `${name}/${models[0]}` };
    },
  };
}

/** Stores the model as the default, if the user has no configuration yet. */
async function rememberModel(model: string, env: Env, { stdout }: AskHost): Promise<void> {
  const folder = userConfigFolder(env);
  const path = folder && join(folder, 'config.json');
  if (folder === undefined || path === undefined || existsSync(path)) {
    const place = path ?? 'config.json';
    writeText(stdout, `To use it again, write "model": ${JSON.stringify(model)} into ${place}.\n`);
    return;
  }
  makeFolder(folder);
  await writeAtomically(path, `${JSON.stringify({ model }, undefined, 2)}\n`);
  writeText(stdout, `Stored the model in ${path}.\n`);
}
