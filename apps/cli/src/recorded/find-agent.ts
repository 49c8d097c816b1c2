import type { Agent } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { UsageError } from '../contract/errors.ts';
import { loadAgents } from '../serve/served-agents.ts';

/** The agents of a module, by name. Only agents with a loop can run recorded sessions. */
export interface ModuleAgents {
  /** Returns the agent with this name, or the only agent of the module. */
  find(name: string | undefined): { readonly name: string; readonly agent: Agent };
}

/** Loads the agents of `--agents`. */
export async function openAgents(path: string | undefined, log: Log): Promise<ModuleAgents> {
  if (path === undefined)
    throw new UsageError(
      'Name the module that exports your agents: --agents <file>. The coding agent cannot be tested like this, because its instructions contain the date, the folder and the branch',
      { flag: 'agents' },
    );
  const all = await loadAgents(path, log);
  const loops = new Map(all.flatMap((one) => (one.type === 'loop' ? [[one.name, one.agent]] : [])));
  return {
    find(name) {
      const [only, ...others] = loops.keys();
      const chosen = name ?? (others.length === 0 ? only : undefined);
      const agent = chosen === undefined ? undefined : loops.get(chosen);
      if (chosen !== undefined && agent !== undefined) return { name: chosen, agent };
      const names = [...loops.keys()].join(', ') || 'none';
      const what = chosen === undefined ? 'Choose an agent' : `There is no agent ${chosen}`;
      throw new UsageError(
        `${what}. The agents of the module with a loop: ${names}. Use --agent <name>`,
        {
          flag: 'agent',
        },
      );
    },
  };
}
