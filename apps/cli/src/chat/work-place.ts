import { basename } from 'node:path';
import type { Clock } from '@millrace/agent';
import { readGitBranch } from '@millrace/tools';

/** The time after which the branch is read again. */
const maxAgeMs = 2000;

interface WorkPlaceOptions {
  readonly cwd: string;
  readonly clock: Clock;
  /** Called if the branch has changed. */
  readonly onChange: () => void;
}

/** The folder of the chat and its branch, for the status line. A command of the agent or a user can change the branch. */
export class WorkPlace {
  readonly #options: WorkPlaceOptions;
  #branch: string | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: WorkPlaceOptions) {
    this.#options = options;
  }

  /** The name of the folder, and its branch in parentheses. Reads an old branch again in the background. */
  get text(): string {
    const { cwd, clock } = this.#options;
    if (clock.now() - this.#readAt >= maxAgeMs) void this.#read(cwd);
    const folder = basename(cwd);
    return this.#branch === undefined ? folder : `${folder} (${this.#branch})`;
  }

  async #read(cwd: string): Promise<void> {
    this.#readAt = this.#options.clock.now();
    const branch = await readGitBranch(cwd).catch(() => undefined);
    if (branch === this.#branch) return;
    this.#branch = branch;
    this.#options.onChange();
  }
}
