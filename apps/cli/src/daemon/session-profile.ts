import { readdir, readFile, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isId, MillraceError, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { PermissionRule } from '@millrace/tools';
import { z } from 'zod';
import { resumeHint } from '../args/command-hint.ts';
import { userConfigFolder } from '../config/config-paths.ts';
import type { BuiltAgent } from '../contract/agent.ts';
import type { ConfigArgs } from '../contract/args.ts';
import {
  type Config,
  sandboxSettings,
  sessionModes,
  webSearchSettings,
} from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { ensurePrivateFolder } from '../serve/private-file.ts';
import { replaceFile } from './daemon-files.ts';

/**
 * The data that the daemon needs to continue a session without its terminal: the folder, and the
 * flags that the terminal had. The profile is a private file of the user and not on the log,
 * because an imported session must not choose its own rights.
 */
export interface SessionProfile {
  readonly cwd: string;
  /** The flags of the terminal. `permissions` is the mode at the time of the hand-over. */
  readonly args: ProfileArgs;
  /**
   * The folder of the user's configuration in the terminal. The daemon can have a different environment.
   * Undefined if the profile does not come from a terminal.
   */
  readonly configFolder?: string | undefined;
  /** True if the daemon continues the session by itself, for example after a crash. */
  readonly isHandedOver: boolean;
  /**
   * The incarnation of the session. A session that was deleted and imported with the same id has a different
   * one, and does not get the rights of the profile. The daemon sets it.
   */
  readonly incarnation?: string | undefined;
}

/** All flags that change what an agent does or may do. */
type ProfileArgs = Omit<
  ConfigArgs,
  'cwd' | 'store' | 'color' | 'trust' | 'otlp' | 'plain' | 'rules'
> & {
  readonly rules?: readonly PermissionRule[] | undefined;
};

const text = z.string().max(100_000).optional();
const count = z.number().int().min(1).optional();
/** A rule of `--allow` or `--deny`. */
const ruleSchema = z.custom<PermissionRule>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    'decision' in value &&
    ['allow', 'ask', 'deny'].includes(String(value.decision)),
);
const profileSchema = z.object({
  cwd: z.string().min(1),
  configFolder: text,
  isHandedOver: z.boolean(),
  incarnation: z.string().optional(),
  args: z.object({
    ...{ config: text, model: text, system: text, maxCost: text },
    ...{ maxTurns: count, maxTokens: count },
    permissions: z.enum(sessionModes as [(typeof sessionModes)[number]]).optional(),
    rules: z.array(ruleSchema).max(10_000).optional(),
    sandbox: z.enum(sandboxSettings).optional(),
    webSearch: z.enum(webSearchSettings).optional(),
  }),
});

/** Checks a profile that comes from a file or from a different process. */
export function parseProfile(value: unknown): SessionProfile {
  const parsed = profileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MillraceError('bad_profile', 'Cannot use the profile of this session: it is damaged');
}

interface ProfileOptions {
  readonly cwd: string;
  /** The environment of the terminal. */
  readonly env: Env;
  /** The flags of the terminal. */
  readonly flags: ConfigArgs;
  readonly config: Pick<Config, 'limits' | 'system'>;
  readonly built: Pick<BuiltAgent, 'mode' | 'chosen'>;
  readonly isHandedOver: boolean;
}

/**
 * Returns the profile of a session in a terminal, with its current mode and model. The limits are part of it,
 * because they can come from the environment of the terminal. The configuration file and the folder of the
 * configuration can come from there too.
 */
export function createProfile(options: ProfileOptions): SessionProfile {
  const { cwd, env, flags, config, built, isHandedOver } = options;
  const { maxTurns, maxTokens, maxCost } = config.limits;
  const file = flags.config ?? (env['MILLRACE_CONFIG'] || undefined);
  // The type requires each flag, so that a new flag is not forgotten here.
  const args: Record<keyof ProfileArgs, unknown> & ProfileArgs = {
    config: file && resolve(cwd, file),
    rules: flags.rules,
    sandbox: flags.sandbox,
    webSearch: flags.webSearch,
    system: config.system,
    ...{ maxTurns, maxTokens, maxCost: maxCost?.amount },
    ...{ model: built.chosen.name, permissions: built.mode() },
  };
  return { cwd, args, isHandedOver, configFolder: userConfigFolder(env) };
}

/**
 * Returns the profile of a session that the daemon drives. The session keeps the flags and the configuration of
 * its terminal.
 */
export function handedOverProfile(
  stored: SessionProfile | undefined,
  now: Pick<SessionProfile, 'cwd' | 'incarnation'>,
): SessionProfile {
  return { args: {}, ...stored, ...now, isHandedOver: true };
}

/**
 * Returns the environment with which the daemon reads the settings of a session. Variables such as
 * `MILLRACE_CONFIG` of the terminal that started the daemon do not apply to a session of another terminal.
 */
export function settingsEnv({ configFolder }: SessionProfile, env: Env): Env {
  if (configFolder === undefined) return env;
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('MILLRACE_'));
  return { ...Object.fromEntries(kept), XDG_CONFIG_HOME: dirname(configFolder) };
}

/** The profiles of a store, one private file per session. */
export class SessionProfiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the profile of a session. Returns undefined if the session has none. */
  async read(session: string): Promise<SessionProfile | undefined> {
    const content = await readFile(this.#path(session), 'utf8').catch(absent);
    if (content === undefined) return undefined;
    try {
      return parseProfile(JSON.parse(content));
    } catch (cause) {
      // A damaged profile must not give the session the looser settings of its folder.
      throw damagedProfile(session, this.#path(session), cause);
    }
  }

  /**
   * Returns the profile of a session, as `read` does. Throws if the session was replaced since then. An imported
   * session must not get the rights of a deleted session with its id.
   */
  async readFor(log: Pick<Log, 'info'>, session: SessionId): Promise<SessionProfile | undefined> {
    const stored = await this.read(session);
    if (stored === undefined || stored.incarnation === (await log.info(session))?.incarnation)
      return stored;
    throw replacedProfile(session);
  }

  async write(session: string, profile: SessionProfile): Promise<void> {
    await ensurePrivateFolder(this.#folder);
    await replaceFile(this.#path(session), JSON.stringify(profile));
  }

  async delete(session: string): Promise<void> {
    await unlink(this.#path(session)).catch(absent);
  }

  /** Returns the sessions that have a profile. */
  async list(): Promise<readonly string[]> {
    const names = (await readdir(this.#folder).catch(absent)) ?? [];
    return names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : []));
  }

  #path(session: string): string {
    // An id has no slash and no dot, so the path stays in the folder.
    if (!isId(session) || !/^[\w-]+$/.test(session)) throw new Error('This is not a session id');
    return join(this.#folder, `${session}.json`);
  }
}

/** Returns undefined if a file does not exist. Throws other errors. */
function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}

function replacedProfile(session: string): MillraceError {
  const message = `Cannot drive session ${session}: it was restored or replaced since its terminal left it. Open it in a terminal with ${resumeHint({}, session)}`;
  return new MillraceError('session_replaced', message, { session });
}

function damagedProfile(session: string, path: string, cause: unknown): MillraceError {
  const message = `Cannot drive session ${session}: its profile ${path} is damaged. Open the session in a terminal with millrace --resume`;
  return new MillraceError('bad_profile', message, { session }, { cause });
}
