import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { temporal } from '@temporalio/proto';

const { History } = temporal.api.history.v1;
type Events = temporal.api.history.v1.IHistory;

/**
 * The folder of histories that every later version must replay. `RECORD_HISTORIES=1` records them again.
 */
const folder = fileURLToPath(new URL('./histories', import.meta.url));

/**
 * A saved history. It includes the workflow id, because the id influences the workflow and the history
 * does not contain it.
 */
interface SavedHistory {
  readonly name: string;
  readonly workflowId: string;
  readonly history: Events;
}

/**
 * Saves a history if recording is enabled. The file has its bytes, and its event names for human readers.
 */
export function saveHistory(name: string, workflowId: string, history: Events): void {
  if (process.env['RECORD_HISTORIES'] !== '1') return;
  mkdirSync(folder, { recursive: true });
  const copy = History.decode(History.encode(history).finish());
  removeMachineNames(copy);
  const base64 = Buffer.from(History.encode(copy).finish()).toString('base64');
  const events = (history.events ?? []).map(
    ({ attributes }: { attributes?: string }) => attributes,
  );
  const saved = { workflowId, events, history: base64.match(/.{1,100}/g) };
  writeFileSync(`${folder}/${name}.json`, `${JSON.stringify(saved, undefined, 2)}\n`);
}

/** Removes names of the recording machine, which are not needed for a replay. */
function removeMachineNames(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  const fields = value as Record<string, unknown>;
  for (const [name, field] of Object.entries(fields)) {
    const isNamed = typeof field === 'string' && field.includes(hostname());
    if (name === 'identity' || name === 'stackTrace' || isNamed) fields[name] = '';
    else removeMachineNames(field);
  }
}

export function savedHistories(): readonly SavedHistory[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.map((file) => {
    const kept = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as {
      readonly workflowId: string;
      readonly history: readonly string[];
    };
    const { workflowId } = kept;
    const history = History.decode(Buffer.from(kept.history.join(''), 'base64'));
    return { name: file.slice(0, -'.json'.length), workflowId, history };
  });
}
