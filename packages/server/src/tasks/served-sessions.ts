import { type JsonObject, sessionId } from '@millrace/core';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import type { AgentStore } from '../agents/agent-store.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import type { LoopAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import { isConflict, notFoundError } from '../stores/row-access.ts';
import { createTracker } from '../stores/row-services.ts';
import type { Recovery } from './recovery.ts';

/** Options of `ServedSessions.adopt`. */
export interface AdoptOptions {
  /** The name of the agent loop that continues the session. */
  readonly agent: string;
  /** The metadata of the new task, for example its `title`. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** The sessions of the log that other programs have created, for example a chat in a terminal. */
export interface ServedSessions {
  /**
   * Creates a task for an existing session, so that clients find it, follow it and send commands to it. The
   * task has the id of the session. Returns false if the session has a task already, even a deleted one.
   * Throws `not_found` if the log has no such session, or if the agent is not an agent loop of this server.
   */
  adopt(session: string, options: AdoptOptions): Promise<boolean>;
  /**
   * Continues the open work of a task in this process. It has no effect if the task has no open work, or if a
   * different process drives it.
   */
  resume(session: string): Promise<void>;
  /**
   * Stops driving a task in this process without ending its run. Resolves when the lease is released. A
   * different process can then continue the run.
   */
  release(session: string): Promise<void>;
}

interface ServedSessionsOptions extends RunnerOptions {
  readonly agents: AgentStore;
  readonly directory: AgentDirectory;
  readonly loops: LoopRunner;
  readonly recovery: Pick<Recovery, 'reconsider'>;
}

export function servedSessions(options: ServedSessionsOptions): ServedSessions {
  const { log, rows, tasks, agents, directory, loops, recovery } = options;
  const loopOf = async (agentId: string): Promise<LoopAgent | undefined> => {
    const agent = (await directory.find(agentId))?.agent;
    return agent?.type === 'loop' ? agent : undefined;
  };
  return {
    async adopt(session, { agent: name, metadata = {} }) {
      const found = await agents.find({ name });
      const agentId = found?.info.id;
      if (agentId === undefined || (await loopOf(agentId)) === undefined)
        throw notFoundError('agent', name);
      if ((await log.info(sessionId(session))) === undefined) throw notFoundError('task', session);
      try {
        const of = { agentId, owner: undefined };
        const fields = { params: null, task_metadata: metadata };
        await tasks.adopt(of, session, fields, 'Task created for an existing session');
      } catch (error) {
        if (!isConflict(error)) throw error;
        return false;
      }
      await createTracker(rows, session, agentId);
      recovery.reconsider(sessionId(session));
      return true;
    },
    async resume(session) {
      const { task, agentId } = await tasks.get({ id: session });
      const loop = await loopOf(agentId);
      if (loop === undefined) throw notALoop(session);
      await loops.resume(task.id, loop.agent);
    },
    release: (session) => loops.release(session),
  };
}

function notALoop(task: string): ServerError {
  const message = `Cannot resume task ${task}: its agent is no agent loop of this server`;
  return new ServerError('bad_state', message, { task });
}
