import { submitCommand } from '@millrace/agent';
import {
  type Item,
  type ItemState,
  type JsonObject,
  type JsonValue,
  type Metadata,
  sessionId,
  toArray,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { CommandOutcome } from '../run-command.ts';
import { hasEnded } from './owner-process.ts';

/** A background command, as the log describes it. */
export interface LoggedCommand {
  /** The id of the command in its session, for example `c1`. */
  readonly id: string;
  /** The start of the command line. */
  readonly command: string;
  /** Identifies the process that ran the command. */
  readonly owner: string;
  /** A sentence part that describes the end, such as `ended with exit code 0`. Undefined if it has not ended. */
  readonly end: string | undefined;
}

/** The name of the metadata that describe a background command. */
const field = 'backgroundCommand';
/** Maximum length of the command line on the log, in characters. */
const maxCommandLength = 200;

/** Returns the metadata of the call that started a command. */
export function startMetadata(id: string, command: string, owner: string): Metadata {
  return { [field]: { id, command: command.slice(0, maxCommandLength).toWellFormed(), owner } };
}

/** Returns the metadata of the message or of the call that reports the end of a command. */
export function endMetadata(id: string, command: string, end: string): Metadata {
  return { [field]: { id, command: command.slice(0, maxCommandLength).toWellFormed(), end } };
}

/**
 * Returns the background command whose end an item reports, for programs that show the item. Returns
 * undefined for all other items.
 */
export function endedCommand(
  metadata: Metadata | undefined,
): (Pick<LoggedCommand, 'id' | 'command'> & { readonly end: string }) | undefined {
  const read = readField(metadata);
  if (read?.end === undefined) return undefined;
  const { id, command, end } = read;
  return { id, command, end };
}

/** The text of `describeEnd` for a command that the sandbox stopped. */
export const stoppedBySandbox = 'was stopped by the sandbox';

/** Describes the end of a command in a part of a sentence. */
export function describeEnd({ reason, exitCode, signal }: CommandOutcome): string {
  switch (reason) {
    case 'timed_out':
      return 'was stopped at its time limit';
    case 'aborted':
      return 'was stopped';
    case 'blocked':
    case 'stuck':
      return stoppedBySandbox;
    case 'exited':
      return signal === null ? `ended with exit code ${exitCode}` : `was killed by ${signal}`;
  }
}

/** The part of an item that describes commands. */
type ItemContent = Pick<Item, 'kind' | 'metadata' | 'parts'>;

/** Returns the background commands of a session, in the order of their start. It depends only on the items. */
export function commandsOf(items: Iterable<ItemContent>): readonly LoggedCommand[] {
  const commands = new Map<string, LoggedCommand>();
  for (const { kind, metadata, parts } of items) {
    const all = [
      ...(kind === 'developer' ? [readField(metadata)] : []),
      ...parts.map((part) => (part.kind === 'tool_result' ? readField(part.metadata) : undefined)),
    ];
    for (const read of all) {
      if (read === undefined) continue;
      const known = commands.get(read.id);
      if (read.owner !== '') commands.set(read.id, { ...read, end: undefined });
      else if (known !== undefined && known.end === undefined)
        commands.set(read.id, { ...known, end: read.end });
    }
  }
  return [...commands.values()];
}

/** Returns the items of a folded session in the form that `commandsOf` reads. */
export function contentsOf(items: readonly ItemState[]): readonly ItemContent[] {
  return items.map(({ kind, metadata, parts }) => ({
    ...{ kind, parts: parts.flatMap(({ part }) => part ?? []) },
    ...(metadata && { metadata }),
  }));
}

/** Returns true if the process of a command has ended without a report about the command. */
export function isLost({ owner, end }: LoggedCommand): boolean {
  return end === undefined && hasEnded(owner);
}

interface OwnCommands {
  /** Identifies this process. */
  readonly owner: string;
  /** Returns true for a command that this process runs. */
  readonly isRunning: (id: string) => boolean;
}

/** Returns the commands of a session that ended together with their process, or with an earlier visit. */
export async function findLostCommands(
  log: Log,
  session: string,
  { owner, isRunning }: OwnCommands,
): Promise<readonly LoggedCommand[]> {
  const id = sessionId(session);
  if ((await log.info(id)) === undefined) return [];
  const { items } = await snapshot(log, id);
  return commandsOf(contentsOf(toArray(items))).filter((command) =>
    command.owner === owner ? command.end === undefined && !isRunning(command.id) : isLost(command),
  );
}

/** Returns the key of the message about the end of a command. A session never uses an id twice. */
export function endKey(id: string): string {
  return `end of background command ${id}`;
}

/** The end of a command whose process is gone. */
export const lostEnd = 'was lost when the program ended';

/** Tells the model that commands were lost. Telling it twice has no effect. */
export async function reportLostCommands(
  log: Log,
  session: string,
  lost: readonly Pick<LoggedCommand, 'id' | 'command'>[],
  end: string = lostEnd,
): Promise<void> {
  for (const { id, command } of lost) {
    const text = `Background command ${id} ${end}. Start it again if it is still needed.`;
    const parts = [{ kind: 'text', text }] as const;
    const metadata = endMetadata(id, command, end);
    const input = [{ kind: 'developer', parts, metadata }] as const;
    const key = endKey(id);
    await submitCommand(log, session, { type: 'message', when: 'steer', input }, { key });
  }
}

/** Returns true if the metadata of an item or of a part describe the start or the end of a background command. */
export function describesCommand(metadata: Metadata | undefined): boolean {
  return readField(metadata) !== undefined;
}

type Read = Omit<LoggedCommand, 'end'> & { readonly end: string | undefined };

/** Metadata come from the log, so their form is unknown. */
function readField(metadata: Metadata | undefined): Read | undefined {
  const value: JsonValue | undefined = metadata?.[field];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { id, command, owner, end } = value as JsonObject;
  if (typeof id !== 'string' || !/^c[1-9]\d{0,5}$/.test(id) || typeof command !== 'string')
    return undefined;
  return {
    ...{ id, command: command.slice(0, maxCommandLength) },
    owner: typeof owner === 'string' ? owner : '',
    end: typeof end === 'string' ? end.slice(0, maxCommandLength) : undefined,
  };
}
