import { type Attempt, sessionId } from '@millrace/core';
import { type DescribedRequest, describeModelRequest, type Provider } from '@millrace/providers';
import { registryWithHandOffs } from '../calls/hand-offs.ts';
import { buildRequest, prepareRequest } from '../context/build-request.ts';
import { resolveTools } from '../context/step-tools.ts';
import type { Agent } from '../contract/agent.ts';
import { assertKnownOptions } from '../known-options.ts';
import { activeSettings, settingsOf } from '../run/agent-registry.ts';
import { findAttemptStart } from './attempt-start.ts';

/** The request of a past attempt, rebuilt from the log. */
export interface PastRequest extends Attempt {
  /** The id of the provider that the attempt used. */
  readonly provider: string;
  /** The model that the attempt used. */
  readonly model: string;
  /** The request. Undefined if it cannot be rebuilt. In this case, `notes` contains the reason. */
  readonly described: DescribedRequest | undefined;
  /** Possible differences from the original request, as sentences for the user. */
  readonly notes: readonly string[];
}

/** Options of `requestAt`. */
export interface RequestAtOptions {
  /** The context of the run, for an `instructions` function that uses it. Default: none. */
  readonly context?: unknown;
}

/**
 * Rebuilds the request of a past attempt, from the log and the agent's current settings. The log does not
 * store requests, because each request repeats the whole conversation. Returns undefined if the attempt does
 * not exist. This function sends no request and writes no record. Its cost depends on the length of the
 * request. It does not depend on the length of the session if the session is compacted.
 */
export async function requestAt(
  agent: Agent,
  session: string,
  at: Attempt,
  options: RequestAtOptions = {},
): Promise<PastRequest | undefined> {
  assertKnownOptions('requestAt', options, { context: true });
  const root = settingsOf(agent);
  const moment = await findAttemptStart(root.log, sessionId(session), at);
  if (moment === undefined) return undefined;
  const { state, loop, kind, provider: id, model } = moment;
  const asked = { turn: at.turn, attempt: at.attempt, provider: id, model };
  if (kind !== 'assistant') return { ...asked, described: undefined, notes: [summaryNote] };
  const active = activeSettings(registryWithHandOffs(root), root, loop.agent);
  const step = { context: options.context, session: sessionId(session), turn: at.turn };
  const tools = await resolveTools(active, at.turn, { ...step, journal: { state, loop } });
  const settings = { ...active, tools };
  const prepared = await prepareRequest(settings, state, loop, step);
  const { providers = settings.providers } = prepared;
  const same = providers.find((one) => one.id === id && one.model === model);
  const provider = same ?? providers[0];
  if (provider === undefined) return { ...asked, described: undefined, notes: [nowNote] };
  const request = await buildRequest(settings, state, loop, step, prepared);
  const notes = same === undefined ? [nowNote, otherNote(asked, provider)] : [nowNote];
  if (provider.describe === undefined)
    return { ...asked, described: describeModelRequest(request), notes: [...notes, plainNote] };
  try {
    return { ...asked, described: provider.describe(request, { session }), notes };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error';
    const failed = `${plainNote} The wire format cannot be shown: ${why}`;
    return { ...asked, described: describeModelRequest(request), notes: [...notes, failed] };
  }
}

const nowNote =
  'Built again from the log with the current instructions, tools and settings of the agent. They may have changed since.';
const plainNote = 'This is the input of the provider. The request on the wire may differ.';
const summaryNote = 'This request created a summary of the conversation. It is not built again.';

function otherNote(then: { readonly provider: string; readonly model: string }, now: Provider) {
  return `The request used ${then.model} of ${then.provider}. This one is for ${now.model} of ${now.id}, which the agent uses now.`;
}
