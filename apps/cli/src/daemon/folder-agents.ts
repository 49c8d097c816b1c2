import { stat } from 'node:fs/promises';
import type { Agent } from '@millrace/agent';
import { MillraceError, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { backgroundCommands } from '@millrace/tools';
import { buildAgent } from '../agent/build-agent.ts';
import { trustedExtensions, withExtensionCode } from '../command/trusted-config.ts';
import { fileCopiesFolder } from '../config/config-paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { BuiltAgent } from '../contract/agent.ts';
import type { Env } from '../contract/host.ts';
import { chooseModel, subAgentModels } from '../models/choose-model.ts';
import { findSession } from '../store/session-summaries.ts';
import { defaultStore } from './daemon-files.ts';
import { agentWithoutModel } from './routing-agent.ts';
import { type SessionProfile, type SessionProfiles, settingsEnv } from './session-profile.ts';

interface FolderAgentsOptions {
  readonly log: Log;
  readonly env: Env;
  /** The path of the session store, which the sandbox of commands hides. */
  readonly store: string;
  /** The name of the driver that other processes show. */
  readonly name: string;
  readonly profiles: SessionProfiles;
}

/**
 * The time for which the error of an agent is kept, so that retries do not build it again and
 * again.
 */
const failureMs = 5000;

/**
 * Builds the agents that drive sessions without their terminals. Each has the folder and the flags of its
 * session. Nobody is asked for trust: parts of a folder that the user has not trusted stay off.
 */
export class FolderAgents {
  readonly #options: FolderAgentsOptions;
  readonly #plain: Agent;
  /** The agents by profile and settings. Changed settings therefore give a new agent. */
  readonly #built = new Map<string, Promise<BuiltAgent>>();
  /**
   * The sessions that this process forked, with their origins. The origin in a log is no proof, because the log
   * can be imported.
   */
  readonly #origins = new Map<string, SessionId>();
  /** The background commands of all agents. Changed settings therefore do not lose a running command. */
  readonly #background = backgroundCommands();
  /** The sessions that were searched for commands of ended processes. */
  readonly #checked = new Set<SessionId>();
  readonly #failures = new Map<SessionId, { readonly error: unknown; readonly until: number }>();

  constructor(options: FolderAgentsOptions) {
    this.#options = options;
    this.#plain = agentWithoutModel(options.log, options.name);
  }

  /** Returns the agent that drives a session. */
  readonly agentFor = async (session: SessionId): Promise<Agent> => {
    const failure = this.#failures.get(session);
    if (failure !== undefined && failure.until > Date.now()) throw failure.error;
    this.#failures.delete(session);
    try {
      const profile = await this.#profileOf(session);
      if (profile === undefined) return this.#plain;
      const { agent } = await this.#agentOf(profile);
      await this.#reportLost(session);
      return agent;
    } catch (error) {
      this.#failures.set(session, { error, until: Date.now() + failureMs });
      throw error;
    }
  };

  /** The number of background commands that run now. */
  get runningCommands(): number {
    return this.#background.running;
  }

  /** Tells the model about commands of a process that has ended, before its next run. */
  async #reportLost(session: SessionId): Promise<void> {
    if (this.#checked.has(session)) return;
    this.#checked.add(session);
    const { log } = this.#options;
    const lost = await this.#background.findLost(log, session);
    await this.#background.reportLost(log, session, lost);
  }

  /** Gives a new fork the profile of its origin. Call it before the fork exists. */
  noteFork(origin: SessionId, fork: string): void {
    this.#origins.set(fork, origin);
  }

  /**
   * Returns the stored profile of a session, or of the session from which this process forked it. Throws if the
   * session was replaced.
   */
  async storedProfile(session: SessionId): Promise<SessionProfile | undefined> {
    const { profiles, log } = this.#options;
    const stored = await profiles.readFor(log, session);
    const origin = this.#origins.get(session);
    return stored ?? (origin && this.storedProfile(origin));
  }

  /** Closes the MCP servers and the sandboxes of all agents. */
  async close(): Promise<void> {
    await this.#background.close();
    for (const building of this.#built.values()) await (await building).close();
  }

  /**
   * Returns the profile of a session. Without a stored profile, the session is driven as a new chat in its
   * folder would be.
   */
  async #profileOf(session: SessionId): Promise<SessionProfile | undefined> {
    const stored = await this.storedProfile(session);
    if (stored !== undefined) return stored;
    const { cwd } = await findSession(this.#options.log, session, { cwd: '' });
    return cwd === undefined ? undefined : { cwd, args: {}, isHandedOver: false };
  }

  async #agentOf(profile: SessionProfile): Promise<BuiltAgent> {
    const { cwd, args } = profile;
    const { store } = this.#options;
    const env = settingsEnv(profile, this.#options.env);
    const isThere = (await stat(cwd).catch(() => undefined))?.isDirectory() === true;
    if (!isThere) throw new MillraceError('no_folder', `The folder ${cwd} does not exist`);
    // The daemon must load the same settings as the terminal. The terminal passes a store only if it is not
    // the default store.
    const named = store === defaultStore(this.#options.env) ? undefined : store;
    const flags = { ...args, rules: args.rules ?? [], store: named };
    const config = await loadConfig({ args: flags, env, cwd });
    const extended = await trustedExtensions({}, { env, cwd, config });
    const key = JSON.stringify([cwd, args, config, extended?.extensions]);
    const known = this.#built.get(key);
    if (known !== undefined) return known;
    const building = this.#build(cwd, config, extended?.extensions);
    this.#built.set(key, building);
    building.catch(() => this.#built.delete(key));
    return building;
  }

  async #build(
    cwd: string,
    loaded: Awaited<ReturnType<typeof loadConfig>>,
    trusted: BuiltAgent['extensions'] | undefined,
  ): Promise<BuiltAgent> {
    const { env, log, name } = this.#options;
    const { config, extensions } = await withExtensionCode(trusted, { env, cwd, config: loaded });
    return buildAgent({
      chosen: await chooseModel({ config, env, cwd }),
      ...{ config, log, cwd, env, name, extensions, approve: 'park', onInterrupted: 'retry' },
      copies: fileCopiesFolder(env),
      background: this.#background,
      openModel: subAgentModels({ config, env, cwd }),
    });
  }
}
