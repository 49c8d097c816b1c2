import { type OptionNames, type SessionId, sessionId } from '@millrace/core';
import type { Provider } from '@millrace/providers';
import type { Agent, ContextOption, ForkedRunOptions } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Run } from '../contract/run.ts';
import type { Settings } from '../contract/settings.ts';
import { forkSession } from '../history/fork-before.ts';
import { assertKnownOptions } from '../known-options.ts';
import { adaptAgents, settingsOf } from '../run/agent-registry.ts';
import { LiveRun } from '../run/live-run.ts';
import type { SessionBranch } from './session-branch.ts';

/** Options for the run of a branch. */
export type BranchRunOptions = Omit<ForkedRunOptions, 'into'> &
  ContextOption<unknown> & {
    /** Decides what the run does while a call needs an approval. Default: the agent's `whileAsking`. */
    readonly whileAsking?: Settings['whileAsking'] | undefined;
  };

/**
 * Continues a session from any record, in a branch, with another message, another tool result, another model
 * or other instructions. The session itself does not change. No tool of the common part runs again. The log of
 * the branch has a fact `branched` with what was changed.
 *
 * @example
 * const run = branchSession(agent, 'monday', { at: 41, results: { call_1: { output: 'rain' } } });
 * console.log(await run.text());
 */
export function branchSession(
  agent: Agent<never> | Agent,
  session: string,
  branch: SessionBranch,
  options: BranchRunOptions = {},
): Run {
  assertKnownOptions('branchSession', branch, branchNames);
  assertKnownOptions('branchSession', options, runNames);
  const { whileAsking } = options;
  const own = settingsOf(agent as Agent);
  const settings =
    whileAsking === undefined ? own : adaptAgents(own, (one) => ({ ...one, whileAsking }));
  return startBranch(settings, sessionId(session), branch, options);
}

/** The maximum number of branches that one call of `branchSessions` starts. */
const maxBranches = 64;

/**
 * Continues a session in several branches at the same time, for example with several models or prompts.
 * Returns the runs in the order of the branches. Each run has its own session and its own stream. At most 64
 * branches.
 */
export function branchSessions(
  agent: Agent<never> | Agent,
  session: string,
  branches: readonly SessionBranch[],
  options: BranchRunOptions = {},
): readonly Run[] {
  if (branches.length > maxBranches) {
    const message = `Cannot start ${branches.length} branches at once: the maximum is ${maxBranches}`;
    throw new AgentError('bad_option', message, { session });
  }
  return branches.map((branch) => branchSession(agent, session, branch, options));
}

function startBranch(
  settings: Settings,
  origin: SessionId,
  branch: SessionBranch,
  { signal, leave, trace, observers, context, onCopy }: BranchRunOptions,
): Run {
  const { log, ids } = settings;
  const session = branch.into === undefined ? ids.session() : sessionId(branch.into);
  return new LiveRun(withProvider(settings, branch.provider), {
    ...{ session, signal, leave, trace, observers, context, input: undefined },
    prepare: async () => {
      // The code loads on demand, because few programs make branches.
      const { planBranch } = await import('./plan-branch.ts');
      const plan = await planBranch(settings, origin, session, branch);
      await forkSession(log, origin, { into: session, ...plan, onCopy });
    },
  });
}

/** Returns the settings with another provider. It also replaces the provider that `prepareStep` chooses. */
function withProvider(settings: Settings, provider: Provider | undefined): Settings {
  if (provider === undefined) return settings;
  const { prepareStep } = settings;
  return {
    ...settings,
    providers: [provider],
    prepareStep:
      prepareStep &&
      (async (...step) => {
        const { providers: _replaced, ...prepared } = await prepareStep(...step);
        return prepared;
      }),
  };
}

const branchNames: OptionNames<SessionBranch> = {
  ...{ at: true, into: true, input: true, results: true, rerun: true },
  ...{ instructions: true, provider: true, model: true },
};

const runNames: OptionNames<BranchRunOptions> = {
  ...{ signal: true, leave: true, trace: true, observers: true, context: true },
  ...{ onCopy: true, whileAsking: true },
};
