import type { ItemId, JsonObject, JsonValue, LogRecord } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type DescribedRequest, describeModelRequest } from '@millrace/providers';
import type { Agent } from '../contract/agent.ts';
import type { Divergence } from '../contract/replay.ts';
import type { CapturedRequest } from '../replay/capture-requests.ts';
import { replay } from '../replay/replay.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { ValuePacker } from './packed-values.ts';
import type { SentRequest, SessionRecording, WireRequest } from './session-recording.ts';

/** Options of all functions that run a recording through an agent. */
export interface RecordingOptions {
  /** The context of the runs, for functions of the agent that use it. Default: none. */
  readonly context?: unknown;
  /**
   * The source of decisions about approvals. `today`: the agent's policy, so that a changed policy is found.
   * `recorded`: the recording. Default: `today`.
   */
  readonly policy?: 'today' | 'recorded' | undefined;
  /** Removes secrets from a text of a request. Default: texts stay as they are. */
  readonly maskText?: ((text: string) => string) | undefined;
}

/** Options of a run that has a limit. */
interface RunLimit {
  /**
   * Called after each request with the size of all requests until then, in bytes of a file. If it throws, the run
   * ends, and `runRecording` rejects with the error. Default: no limit.
   */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** What an agent does with a recording. */
export interface RecordingRun {
  /** The requests that the agent would send, until the divergence. */
  readonly requests: readonly SentRequest[];
  /** The first record that the loop would not write. Undefined if the loop does the same as the recording. */
  readonly divergence: Divergence | undefined;
}

/**
 * Runs a recording through an agent and collects the requests that the agent would send. Answers, tool
 * results, people, clock and ids come from the recording. No tool runs and no request is sent.
 */
export async function runRecording(
  agent: Agent,
  { session, records }: Pick<SessionRecording, 'session' | 'records'>,
  { context, policy = 'today', maskText, onBytes }: RecordingOptions & RunLimit = {},
): Promise<RecordingRun> {
  const requests: SentRequest[] = [];
  const summaries = summaryItems(records);
  const packer = new ValuePacker();
  const stop = new AbortController();
  const onRequest = (captured: CapturedRequest) => {
    if (stop.signal.aborted) return;
    try {
      const sent = sentRequest(
        { ...captured, session },
        summaries,
        maskText,
      ) as unknown as JsonValue;
      requests.push(packer.add(sent).shared as unknown as SentRequest);
      onBytes?.(packer.byteLength);
    } catch (error) {
      stop.abort(error);
    }
  };
  // A recording has no attachments, so requests must not contain those of the agent's log.
  const settings = { ...settingsOf(agent), log: memoryLog() };
  const { divergence } = await replay(settings, session, records, {
    ...{ context, capture: { policy, onRequest, signal: stop.signal } },
  });
  return { requests, divergence };
}

function summaryItems(records: readonly LogRecord[]): ReadonlySet<ItemId> {
  return new Set(
    records.flatMap(({ fact }) =>
      fact?.type === 'item_started' && fact.kind === 'context' ? [fact.itemId] : [],
    ),
  );
}

function sentRequest(
  captured: CapturedRequest & Pick<SessionRecording, 'session'>,
  summaries: ReadonlySet<ItemId>,
  maskText: (text: string) => string = (text) => text,
): SentRequest {
  const { turn, attempt, agent, itemId, provider, request, session } = captured;
  const wire = provider.describe && wireRequest(() => provider.describe?.(request, { session }));
  return {
    ...{ turn, attempt, agent, purpose: summaries.has(itemId) ? 'summary' : 'answer' },
    ...{ provider: provider.id, model: provider.model },
    request: masked(plain(describeModelRequest(request).body), maskText) as JsonObject,
    ...(wire && { wire: masked(plain(wire), maskText) as unknown as WireRequest }),
  };
}

/** Returns what the provider would send. If the provider cannot express the request, it returns the reason. */
function wireRequest(describe: () => DescribedRequest | undefined): WireRequest | undefined {
  try {
    const described = describe();
    if (described === undefined) return undefined;
    const { url, body } = described;
    return { path: url !== undefined && URL.canParse(url) ? new URL(url).pathname : '', body };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { path: '', body: { error: message } };
  }
}

/** Returns the JSON form, in which missing fields and fields with the value undefined are the same. */
function plain(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

function masked(value: JsonValue, maskText: (text: string) => string): JsonValue {
  if (typeof value === 'string') return maskText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => masked(entry, maskText));
  const fields = Object.entries(value as JsonObject);
  return Object.fromEntries(fields.map(([name, entry]) => [name, masked(entry, maskText)]));
}
