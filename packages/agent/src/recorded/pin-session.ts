import { encodeRecord, type LogRecord, sessionId } from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import { readRecords } from '../history/fork-before.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { lineLength } from './packed-values.ts';
import { type RecordingOptions, runRecording } from './run-recording.ts';
import { encodeRecording, type SessionRecording } from './session-recording.ts';

/** Options of `pinSession`. */
export interface PinOptions extends RecordingOptions {
  /**
   * Removes secrets from the records. The result must have the same number of records, in the same order.
   * Default: the records stay as they are.
   */
  readonly maskRecords?: ((records: readonly LogRecord[]) => readonly LogRecord[]) | undefined;
  /** The name under which tests find the agent. Default: the name of the agent. */
  readonly name?: string | undefined;
  /** Maximum size of the recording as a file, in bytes. Default: 8 MiB. */
  readonly maxBytes?: number | undefined;
}

const defaultMaxBytes = 8 * 2 ** 20;

/**
 * Makes a recording of a session for tests. The log contains no requests, so the requests are built now, with
 * the current settings of the agent. Pin a session before you change the agent.
 *
 * Rejects with `not_replayable` if the agent would not do again what the session recorded. Rejects with
 * `too_large` if the recording is larger than `maxBytes`.
 */
export async function pinSession(
  agent: Agent,
  session: string,
  { maskRecords, name = agent.name, maxBytes = defaultMaxBytes, ...options }: PinOptions = {},
): Promise<SessionRecording> {
  const id = sessionId(session);
  const found = await readRecords(settingsOf(agent).log, id);
  const masked = maskRecords?.(found);
  const recordBytes = (masked ?? found).reduce(
    (sum, one) => sum + lineLength(encodeRecord(one)),
    0,
  );
  // A long session is refused at the request that is too much, and not after all requests are built.
  const onBytes = (bytes: number) => {
    if (recordBytes + bytes > maxBytes) throw tooLarge(session, maxBytes);
  };
  onBytes(0);
  const limited = { ...options, onBytes };
  const original = await runRecording(agent, { session: id, records: found }, limited);
  if (original.divergence !== undefined) throw notTheSame(session, original.divergence.message);
  const { records, requests } =
    masked === undefined
      ? { records: found, requests: original.requests }
      : await runMasked(agent, { session: id, records: masked }, limited);
  const recording = { session: id, agent: name, records, requests };
  const size = new TextEncoder().encode(encodeRecording(recording)).length;
  if (size > maxBytes) throw tooLarge(session, maxBytes);
  return recording;
}

/** Maximum number of records that depend on a secret. */
const maxRepairs = 50;

/**
 * Runs a recording without its secrets. Some records of the loop depend on a secret, such as a shortened line
 * that describes a call. These records are replaced with the records that the loop writes without the secret.
 */
async function runMasked(
  agent: Agent,
  { session, records: masked }: Pick<SessionRecording, 'session' | 'records'>,
  options: Parameters<typeof runRecording>[2],
): Promise<Required<Pick<SessionRecording, 'records' | 'requests'>>> {
  let records = masked;
  for (let repairs = 0; ; repairs++) {
    const { requests, divergence } = await runRecording(agent, { session, records }, options);
    if (divergence === undefined) return { records, requests };
    const { expected, found, message } = divergence;
    const [draft] = found;
    const isSameKind =
      draft?.fact !== undefined &&
      expected.fact?.type === draft.fact.type &&
      draft.turn === expected.turn;
    if (!isSameKind || repairs >= maxRepairs) throw changedByMask(session, message);
    const { fact } = draft;
    records = records.map((one) =>
      one.offset === expected.offset && one.fact !== undefined ? { ...one, fact } : one,
    );
  }
}

function notTheSame(session: string, why: string): AgentError {
  const message = `Cannot pin session ${session}: the agent would not do the same today. ${why}. Use the agent and the settings that recorded the session`;
  return new AgentError('not_replayable', message, { session });
}

function changedByMask(session: string, why: string): AgentError {
  const message = `Cannot pin session ${session}: without its secrets, the agent would do something else. ${why}`;
  return new AgentError('not_replayable', message, { session });
}

function tooLarge(session: string, maxBytes: number): AgentError {
  const message = `Cannot pin session ${session}: the recording has more than the allowed ${maxBytes} bytes. Choose a shorter session, or raise maxBytes`;
  return new AgentError('too_large', message, { session });
}
