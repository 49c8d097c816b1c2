import {
  type Attempt,
  Folder,
  type FoldState,
  type ItemId,
  type ItemKind,
  type LogRecord,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { type DescribedRequest, describeModelRequest, type Provider } from '@millrace/providers';
import { registryWithHandOffs } from '../calls/hand-offs.ts';
import { buildRequest, prepareRequest } from '../context/build-request.ts';
import { resolveTools } from '../context/step-tools.ts';
import type { Agent } from '../contract/agent.ts';
import { emptyLoopState, type LoopState } from '../contract/loop-state.ts';
import { assertKnownOptions } from '../known-options.ts';
import { activeSettings, settingsOf } from '../run/agent-registry.ts';
import { foldLoop } from '../state/fold-loop.ts';

/** The request of an earlier attempt, which was built again from the log. */
export interface PastRequest extends Attempt {
  /** The id of the provider that was used. */
  readonly provider: string;
  /** The model that was used. */
  readonly model: string;
  /** The request. Undefined if it cannot be built again. `notes` then has the reason. */
  readonly described: DescribedRequest | undefined;
  /** Possible differences from the original request, as sentences for the user. */
  readonly notes: readonly string[];
}

/** Options of `requestAt`. */
export interface RequestAtOptions {
  /** The context of the run, for `instructions` that use it. Default: none. */
  readonly context?: unknown;
}

/**
 * Builds the request of a past attempt again, from the log and the agent's current settings. Requests are
 * not stored, because each one repeats the whole conversation. Returns undefined if there was no such
 * attempt. It sends no request and writes no record.
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
    return { ...asked, described: provider.describe(request), notes };
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

interface AttemptStart {
  /** The state of the session immediately before the attempt. */
  readonly state: FoldState;
  readonly loop: LoopState;
  readonly kind: ItemKind;
  readonly provider: string;
  readonly model: string;
}

/** Finds the start of the attempt. It reads the log only up to there. */
async function findAttemptStart(
  log: Log,
  session: SessionId,
  at: Attempt,
): Promise<AttemptStart | undefined> {
  const folder = new Folder(session);
  const finder = attemptStartFinder(folder, at);
  for (let from = 0; ; ) {
    const page = await log.read(session, { from });
    for (const record of page.records) {
      const found = finder(record);
      if (found !== undefined) return found;
    }
    if (page.through <= from) return undefined;
    from = page.through;
  }
}

function attemptStartFinder(folder: Folder, { turn, attempt }: Attempt) {
  let loop: LoopState = emptyLoopState;
  /** The state before the last item of the attempt started. */
  let before: (Pick<AttemptStart, 'state' | 'loop' | 'kind'> & { readonly id: ItemId }) | undefined;
  return (record: LogRecord): AttemptStart | undefined => {
    const { fact, offset } = record;
    const isIts = record.turn === turn && record.attempt === attempt;
    if (isIts && fact?.type === 'item_started')
      before = { state: folder.state, loop, kind: fact.kind, id: fact.itemId };
    if (isIts && fact?.type === 'response_started' && before?.id === fact.itemId)
      return { ...before, provider: fact.provider, model: fact.model };
    folder.addBatch({ after: folder.state.through, through: offset, records: [record] });
    loop = foldLoop(loop, record);
    return undefined;
  };
}
