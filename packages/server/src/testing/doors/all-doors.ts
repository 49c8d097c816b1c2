import { clientDoors } from './client-doors.ts';
import type { Door, Line, LineKind } from './door.ts';
import { mcpDoors } from './mcp-doors.ts';
import { taskDoors } from './task-doors.ts';

const kinds: readonly LineKind[] = ['user', 'reasoning', 'text', 'call', 'result'];

interface NamedDoor {
  readonly name: string;
  readonly door: Door;
  /** Returns the lines of a transcript that the door shows, in a common order. */
  readonly shownOf: (lines: readonly Line[]) => readonly Line[];
}

/** Every door of a server whose clients can resume a run after a lost connection. */
export const allDoors: readonly NamedDoor[] = [
  ...Object.entries(taskDoors).map(([name, door]) => ({ name, door, shownOf: ordered(kinds) })),
  ...Object.entries(clientDoors).map(([name, [door, shown]]) => ({
    ...{ name, door, shownOf: ordered(shown) },
  })),
  ...Object.entries(mcpDoors).map(([name, door]) => ({
    ...{ name, door },
    // The result of a call has the last text.
    shownOf: (lines: readonly Line[]) => ordered(['text'])(lines).slice(-1),
  })),
];

/** Some protocols show a call together with its result, so the lines are grouped by kind. */
function ordered(shown: readonly LineKind[]) {
  return (lines: readonly Line[]): readonly Line[] =>
    shown.flatMap((kind) => lines.filter((line) => line.startsWith(`${kind}: `)));
}
