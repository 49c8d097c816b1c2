import { isLoopback } from '@millrace/server';
import type { Env } from '../contract/host.ts';
import { isInClone, pageFolder } from '../package-files.ts';
import { askDaemon } from './control-socket.ts';
import { type DaemonFiles, readState } from './daemon-files.ts';
import { type QrCode, qrCode } from './qr-code.ts';
import { ensureDaemon } from './start-daemon.ts';

interface ShareOptions {
  readonly session: string;
  /** True if the link can also send messages, answer questions and stop the run. */
  readonly canWrite: boolean;
  /** The time for which the link is valid. */
  readonly seconds: number;
  /** The address of the daemon for other machines. Default: its own address. */
  readonly url?: string | undefined;
}

interface SharedLink {
  readonly link: string;
  /** The lines of a code to scan. Empty if the link is too long for a code. */
  readonly code: readonly string[];
  /** Sentences about the rights of the link. */
  readonly more: readonly string[];
}

/** Creates a link to one session on the page of the daemon. Starts the daemon if it does not run. */
export async function shareSession(
  files: DaemonFiles,
  env: Env,
  { session, canWrite, seconds, url }: ShareOptions,
): Promise<SharedLink> {
  await ensureDaemon(files, env);
  const request = { type: 'share', session, canWrite, seconds, base: url } as const;
  const { link = '', expiresAt = 0 } = (await askDaemon(files.socket, request)) ?? {};
  const until = new Date(expiresAt).toLocaleString('sv-SE').slice(0, 16);
  const rights = canWrite
    ? 'Everybody with the link can read this session, send, change and delete messages, approve calls, stop the run and delete the session'
    : 'Everybody with the link can read this session and its later messages, and nothing else';
  const { pid } = (await readState(files.state)) ?? {};
  const notes = linkNotes(link, { hasPage: pageFolder() !== undefined, pid });
  const code = qrCode(link);
  const lines = code === undefined ? [] : qrLines(code);
  return { link, code: lines, more: [`${rights}, until ${until}.`, ...notes] };
}

interface LinkState {
  /** True if the web page is built. The daemon serves it. */
  readonly hasPage: boolean;
  /** The process id of the daemon, if it is known. */
  readonly pid: number | undefined;
}

/** Returns sentences about the places in which a link works. */
export function linkNotes(link: string, { hasPage, pid }: LinkState): readonly string[] {
  if (!hasPage) {
    const build = isInClone() ? 'Run npm run build:all in the clone' : 'Install millrace again';
    // A daemon looks for the page only when it starts.
    const end = pid === undefined ? 'end the daemon' : `end the daemon (kill ${pid})`;
    return [`Browsers cannot show the link yet. ${build}, ${end}, and create the link again.`];
  }
  if (!isLoopback(new URL(link).hostname)) return [];
  return [
    'The link works on this machine. For a phone, put a proxy in front of the daemon, and create the link with millrace share --url <address of the proxy>.',
  ];
}

/** Returns the lines of a QR code for a terminal, with its margin. Two modules are one character. */
export function qrLines(code: QrCode): readonly string[] {
  const margin = 2;
  const size = code.length + 2 * margin;
  const isDark = (row: number, column: number) => code[row - margin]?.[column - margin] === true;
  const lines: string[] = [];
  // Light modules are drawn, because most terminals have a dark background. Scanners read both forms.
  for (let row = 0; row < size; row += 2) {
    let line = '';
    for (let column = 0; column < size; column++) {
      const [upper, lower] = [!isDark(row, column), row + 1 < size && !isDark(row + 1, column)];
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
    }
    lines.push(line);
  }
  return lines;
}
