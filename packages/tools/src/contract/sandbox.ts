import { type ErrorPlace, MillraceError } from '@millrace/core';

/**
 * The files that commands may change. `workspace`: files in the workspace and in a private `/tmp`.
 * `read-only`: only files in the private `/tmp`.
 */
export type SandboxProfile = 'workspace' | 'read-only';

/** Options of `findSandbox`. */
export interface SandboxOptions {
  /**
   * The absolute path of the workspace. If the sandbox cannot protect files there, because the file system ignores the
   * letter case of names, there is no sandbox (`failed`). Without this option, commands fail in such a workspace.
   * Default: none.
   */
  readonly workspace?: string | undefined;
  /** The files that commands may change. Default: `workspace`. */
  readonly profile?: SandboxProfile | undefined;
  /** True if commands may use the network. Default: false. */
  readonly network?: boolean | undefined;
  /**
   * Absolute paths that commands can neither read nor change, in addition to a built-in list. That list
   * contains key folders, histories and browser profiles. Commands also cannot create these paths. Default:
   * none.
   */
  readonly hide?: readonly string[] | undefined;
  /**
   * Paths that commands must not change, relative to the workspace or absolute, in addition to the built-in
   * list. Commands also cannot create these paths. Default: none.
   */
  readonly protect?: readonly string[] | undefined;
  /**
   * Absolute paths of programs that run outside of the sandbox, such as the agent itself, and of their
   * caches. Commands cannot change or create them. In contrast to `protect`, these files may have several
   * hard links, because package managers create hard links. Default: none.
   */
  readonly programs?: readonly string[] | undefined;
  /**
   * Absolute paths outside of the workspace that commands may change, for example the cache of a
   * package manager. Paths that do not exist are ignored. Default: none.
   */
  readonly writable?: readonly string[] | undefined;
  /**
   * True if commands may use UNIX sockets. A UNIX socket can lead out of the sandbox, for example to a
   * container engine. Default: false.
   */
  readonly unixSockets?: boolean | undefined;
  /** Limits for the processes of one command. Default: the defaults of `SandboxLimits`. */
  readonly limits?: SandboxLimits | undefined;
  /**
   * Remembers that a test command ran in the sandbox, so that the next process needs no test command.
   * Default: each call of `findSandbox` runs a test command.
   */
  readonly tested?: TestedSandbox | undefined;
}

/**
 * Remembers the last sandbox that worked. Commands must not be able to change what it remembers. If it is wrong,
 * commands fail and do not run outside of the sandbox.
 */
export interface TestedSandbox {
  /** Returns the last stored name of a sandbox that worked. The name changes when the machine starts again. */
  read(): string | undefined;
  /** Stores the name of a sandbox that worked. Removes the stored name if the sandbox did not work. */
  write(name: string | undefined): void;
}

/** Limits for the processes of one command. If the system has a lower limit, that limit applies. */
export interface SandboxLimits {
  /** Maximum number of processes and threads. Not enforced for root. Default: 4,096. */
  readonly processes?: number | undefined;
  /** Maximum number of open files of one process. Default: 65,536. */
  readonly openFiles?: number | undefined;
  /** Maximum size of one file that is written. Default: 16 GiB. */
  readonly fileBytes?: number | undefined;
  /**
   * Maximum memory that one process can allocate. Default: 4 GiB for a command that runs without an approval
   * because it only reads, and no limit for other commands.
   */
  readonly memoryBytes?: number | undefined;
}

/**
 * The reason why there is no sandbox. `missing`: this system has no sandbox. `failed`: the system has a
 * sandbox, but it cannot run.
 */
export type SandboxProblem = 'missing' | 'failed';

/** The result of `findSandbox`. */
export type SandboxSearch =
  | { readonly sandbox: Sandbox }
  | {
      readonly sandbox: undefined;
      /**
       * The kind of problem. `missing`: this system has no sandbox. `failed`: the system has a sandbox, but
       * it cannot run.
       */
      readonly problem: SandboxProblem;
      /** The reason why commands cannot be confined on this system. */
      readonly reason: string;
      /** A text that tells the user how to get a sandbox. */
      readonly advice: string;
    };

/** Confines commands. Create it with `findSandbox` and pass it to `bashTool`. */
export interface Sandbox {
  /** The program that confines the commands. */
  readonly name: 'bubblewrap' | 'sandbox-exec';
  readonly profile: SandboxProfile;
  readonly network: boolean;
  /** Prepares one command. The caller must call `finish` of the result, even if the command fails. */
  prepare(request: SandboxRequest): Promise<PreparedCommand>;
  /** True while a command that can change files of this workspace runs. */
  isChanging(root: string): boolean;
  /**
   * Resolves when the sandbox has checked all files that earlier commands created. The check of
   * `node_modules` can continue after its command has ended. Wait for it before you run git outside of the
   * sandbox, and before the process exits.
   */
  settled(): Promise<void>;
  /**
   * Removes the private `/tmp`. No command may be running. Without this call, the folder is removed when this
   * process exits.
   */
  close(): void;
}

/** A command to confine. */
export interface SandboxRequest {
  /** The real path of the workspace. Commands start there. */
  readonly root: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * The permissions of the command. With `closed`, the command changes nothing, has no network, and sees only
   * the workspace and the programs of the system. Use it for commands that no user has approved. Default: the
   * profile of the sandbox.
   */
  readonly view?: SandboxProfile | 'closed' | undefined;
  /** True if the command may use the network. Default: the setting of the sandbox. */
  readonly network?: boolean | undefined;
  /**
   * True if the command may change the git repositories of the workspace and create new ones. Otherwise their git
   * folders are read-only, and the sandbox renames repositories that the command creates. Default: false.
   */
  readonly changesGit?: boolean | undefined;
  /**
   * True if no other command that can change files may run in the workspace at the same time. `prepare` rejects if one
   * runs, and later ones wait. Use it for git that nobody has approved, because another command could change the
   * repositories that git uses. Default: false.
   */
  readonly isAlone?: boolean | undefined;
  /** Absolute paths to hide from this command. Default: none. */
  readonly hide?: readonly string[] | undefined;
  /**
   * Returns true for an absolute path that this command must not read if another program creates it while the
   * command runs. The sandbox then stops the command. It checks names in the workspace itself, and in the
   * folders that contain paths of `hide`. Default: new files are readable.
   */
  readonly hideNew?: ((path: string) => boolean) | undefined;
  /**
   * Absolute paths of folders that the command must not rename, because they contain paths in `hide`. Default:
   * none.
   */
  readonly pin?: readonly string[] | undefined;
  /**
   * Absolute paths of links that the command must not remove or replace. The sandbox restores them and stops the
   * command. Default: none.
   */
  readonly links?: readonly string[] | undefined;
  /**
   * Paths that this command must not change or create, relative to the workspace or absolute, in addition to
   * `SandboxOptions.protect`. Default: none.
   */
  readonly protect?: readonly string[] | undefined;
  /**
   * Returns true for a name that this command must not create directly in the workspace. The sandbox renames
   * a file that appears with such a name. Default: the command can create all names except those in
   * `protect`.
   */
  readonly protectNew?: ((name: string) => boolean) | undefined;
  /**
   * Absolute paths that the command can read, although they are in a folder that the sandbox replaces, such
   * as `/tmp`. Default: none.
   */
  readonly show?: readonly string[] | undefined;
}

/** A confined command that is ready to start. */
export interface PreparedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which the program starts. Default: the workspace. */
  readonly cwd?: string | undefined;
  /** File descriptors for the child process. They get the numbers from 3 on. `finish` closes them. */
  readonly fds: readonly number[];
  /**
   * Checks the places of the command after the program has started. If it is present, the command waits. Start such a
   * command only with `startPrepared`. `ended` aborts when the program has ended.
   */
  readonly check?: ((ended: AbortSignal) => Promise<boolean>) | undefined;
  /** True if all processes of the command end together with the started process. */
  readonly endsTogether: boolean;
  /**
   * This signal aborts when the command creates a forbidden file, or becomes able to change a guarded file.
   */
  readonly blocked: AbortSignal;
  /**
   * Returns true if the command may have read a hidden file, because another program replaced the file. Call
   * it for each part of the output, before you use the part. If it returns true, drop this part and all later
   * parts. Default: the system itself hides such files.
   */
  readonly isExposed?: (() => boolean) | undefined;
  /**
   * Waits until all processes of the command are gone, and releases all resources. Call it after the started
   * process has ended. Returns sentences for the model that describe changes by the sandbox.
   */
  finish(): Promise<readonly string[]>;
}

/** The codes of `SandboxError`. */
export type SandboxErrorCode =
  /** A command cannot be confined in this workspace. */
  'cannot_confine';

/** Thrown when a command cannot be confined. The command did not run. */
export class SandboxError extends MillraceError<SandboxErrorCode> {
  constructor(
    code: SandboxErrorCode,
    message: string,
    place: ErrorPlace = {},
    options: ErrorOptions = {},
  ) {
    super(code, message, place, options);
  }
}
