import { AgentError, createAgent } from '@millrace/agent';
import { runId, sessionId } from '@millrace/core';
import { Context } from '@temporalio/activity';
import type { AutoSendInput, Sent } from '../contract/activities.ts';
import type { ActivitiesOptions } from './create-activities.ts';
import type { LivingSignals } from './living.ts';
import { runHere } from './run-here.ts';

/** Has a provider answer, streams that to the log, and gives the settled messages. */
export async function autoSend(
  { providers = {}, log }: Pick<ActivitiesOptions, 'providers' | 'log'>,
  { provider: name, instructions, items, ...given }: AutoSendInput,
  signals: LivingSignals,
): Promise<Sent> {
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined || log === undefined) throw missing(name, provider !== undefined);
  const agent = createAgent({ name, provider, log, instructions });
  const { owner, key } = given;
  return runHere(agent, {
    ...{ session: sessionId(given.session), runId: runId(given.runId), items, key, signals },
    claim: {
      ...{ owner: `${owner}, auto-send ${given.runId}`, life: key },
      attempt: Context.current().info.attempt,
    },
  });
}

function missing(name: string, isThere: boolean): AgentError {
  const what = isThere ? 'this worker has no log' : 'this worker does not have it';
  const message = `Cannot send by provider ${name}: ${what}. Give both to millracePlugin({ providers, log })`;
  return new AgentError('bad_option', message, { provider: name });
}
