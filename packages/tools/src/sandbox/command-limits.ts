import type { SandboxLimits, SandboxRequest } from '../contract/sandbox.ts';

/** The limits of one command, with the defaults filled in. */
export type CommandLimits = {
  readonly [Name in Exclude<keyof SandboxLimits, 'memoryBytes'>]-?: number;
} & Pick<SandboxLimits, 'memoryBytes'>;

/**
 * Returns the limits with the defaults filled in. A command with the view `closed` runs without an approval,
 * so its memory is limited by default.
 */
export function commandLimits(
  given: SandboxLimits = {},
  view?: SandboxRequest['view'],
): CommandLimits {
  return {
    processes: given.processes ?? 4096,
    openFiles: given.openFiles ?? 65_536,
    fileBytes: given.fileBytes ?? 16 * 2 ** 30,
    memoryBytes: given.memoryBytes ?? (view === 'closed' ? 4 * 2 ** 30 : undefined),
  };
}

/** The line that starts a command, see `withLimits`. */
export const startLine = 'start';

/** If the descriptor is closed without the line, for example because this process was killed, the command must not run. */
function waitForLine(descriptor: number): readonly string[] {
  return [
    `IFS= read -r line <&${descriptor} && [ "$line" = ${startLine} ] || exit 126`,
    `exec ${descriptor}<&-`,
  ];
}

/**
 * Returns a command that sets the limits and then runs the given command. A lower limit of the system stays.
 * Shells use different letters for the number of processes, so the script tries both letters. The script first waits for
 * `startLine` on the descriptor `waitsAt`. Default: it does not wait.
 */
export function withLimits(
  command: SandboxRequest['command'],
  { processes, openFiles, fileBytes, memoryBytes }: CommandLimits,
  waitsAt?: number,
): readonly string[] {
  const blocks = Math.ceil(fileBytes / 512);
  const script = [
    ...(waitsAt === undefined ? [] : waitForLine(waitsAt)),
    'ulimit -c 0 2>/dev/null',
    `ulimit -n ${openFiles} 2>/dev/null`,
    `ulimit -f ${blocks} 2>/dev/null`,
    `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null`,
    // This limit does not count reserved addresses. Some programs reserve much more than they use.
    ...(memoryBytes === undefined
      ? []
      : [`ulimit -d ${Math.ceil(memoryBytes / 1024)} 2>/dev/null`]),
    'exec "$@"',
  ].join('\n');
  return ['/bin/sh', '-c', script, 'sh', ...command];
}
