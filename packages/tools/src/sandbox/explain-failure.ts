import type { SandboxRequest } from '../contract/sandbox.ts';

/** A failed command, and the sandbox settings with which it ran. */
export interface FailedCommand {
  readonly command: string;
  /** The end of the command's output. */
  readonly output: string;
  readonly exitCode: number | null;
  readonly view: NonNullable<SandboxRequest['view']>;
  readonly network: boolean;
  readonly changesGit: boolean;
}

const networkErrors =
  /network is unreachable|could not resolve|temporary failure in name resolution|name or service not known|EAI_AGAIN|ENOTFOUND|ENETUNREACH|no address associated|failed to connect|cannot assign requested address|connection refused|ECONNREFUSED|no such host|nodename nor servname|unable to access 'https?:|dns error|UnknownHostException/i;
const writeErrors =
  /read-only file system|EROFS|device or resource busy|EBUSY|cross-device link|EXDEV/i;
const deniedErrors =
  /operation not permitted|EPERM|permission denied|EACCES|sandbox_apply|deny\(\d\)/i;
const missingErrors = /no such file or directory|ENOENT|command not found|not a git repository/i;

/**
 * The exit codes for a failed connection. They are needed because `curl -s` and `wget -q` print no message.
 * The program may be at any position in the line.
 */
const connectionExitCodes: readonly (readonly [program: RegExp, codes: readonly number[]])[] = [
  [/(?:^|[\s;&|(/])curl\s/, [5, 6, 7, 28]],
  [/(?:^|[\s;&|(/])wget\s/, [4]],
];

/** A path in a git folder, as the errors of git and of other programs name it. */
const gitPath = /(?:^|[\s'"`/])\.(?:git|jj\/repo)\/|index\.lock|FETCH_HEAD|COMMIT_EDITMSG/m;

/** Maximum length of the searched output, in characters. */
const maxSearched = 20_000;

/**
 * Returns a note for the model if a command probably failed because of the sandbox. The note explains how to
 * request more permissions. The output of programs is the only evidence, so the note uses the word "may".
 */
export function explainFailure({
  command,
  output,
  exitCode,
  view,
  network,
  changesGit,
}: FailedCommand): string | undefined {
  if (exitCode === 0) return undefined;
  const text = output.slice(-maxSearched);
  const outside = 'outside_sandbox: true runs it without the sandbox, if the user approves';
  if (
    view === 'closed' &&
    [writeErrors, deniedErrors, missingErrors, networkErrors].some((form) => form.test(text))
  )
    return `The sandbox may be the reason: this command ran without a question, so it could only read the workspace and programs of the system. ${outside}`;
  if (!network && (networkErrors.test(text) || isConnectionExit(command, exitCode)))
    return 'The sandbox may be the reason: it has no network. network: true runs the command with network, if the user approves';
  if (!changesGit && writeErrors.test(text) && gitPath.test(text))
    return 'The sandbox may be the reason: the command may not change git repositories. change_git: true permits it, if the user approves';
  if (writeErrors.test(text)) {
    const where =
      view === 'workspace'
        ? 'files in the workspace (except git repositories, submodules that are not checked out, and settings of this program) and in /tmp'
        : 'files in /tmp';
    return `The sandbox may be the reason: commands can change only ${where}. ${outside}`;
  }
  if (deniedErrors.test(text))
    return `The sandbox may be the reason: it hides keys, and refuses UNIX sockets, mounts and tracing. ${outside}`;
  return undefined;
}

function isConnectionExit(command: string, exitCode: number | null): boolean {
  return connectionExitCodes.some(
    ([program, codes]) => program.test(command) && codes.some((code) => code === exitCode),
  );
}

/**
 * Returns a text that tells the model what commands can do in the sandbox. It becomes part of the tool's
 * description.
 */
export function describeSandbox(view: 'workspace' | 'read-only', network: boolean): string {
  const changes =
    view === 'workspace'
      ? 'change files only in the workspace and in /tmp'
      : 'change files only in /tmp';
  const limits = network ? changes : `${changes}, and have no network`;
  return `Commands run in a sandbox: they can ${limits}. Keys and settings of the user are hidden. Only commands with change_git can change git repositories or create them. If a command needs more, set outside_sandbox${network ? '' : ' or network'}.`;
}
