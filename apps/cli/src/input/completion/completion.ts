/** One choice of a completion list. */
export interface CompletionItem {
  readonly kind: 'command' | 'argument' | 'file' | 'folder';
  /** What is shown, and what is meant: `/model`, `src/main.ts`. */
  readonly label: string;
  readonly description?: string | undefined;
  /** What takes the place of what was typed. */
  readonly insert: string;
  /** Enter takes it and sends at once: there is nothing more to say. */
  readonly isComplete: boolean;
}

/** What could stand at the cursor. */
export interface Completions {
  /** What was typed so far is from here to `end`. */
  readonly start: number;
  readonly end: number;
  /** The best first; never empty. */
  readonly items: readonly CompletionItem[];
}

/** A value that a command takes, such as a model's name. */
export interface Choice {
  readonly value: string;
  readonly description?: string | undefined;
}

/** A slash command. */
export interface Command {
  /** With its slash. */
  readonly name: string;
  readonly description: string;
  /** What can follow it: asked each time, so it may change. Without it the command takes no argument. */
  readonly choices?: (() => readonly Choice[]) | undefined;
  /** It takes an argument that cannot be listed: Enter on the list does not send it at once. */
  readonly takesText?: boolean | undefined;
}

export interface CompletionSources {
  readonly commands?: readonly Command[] | undefined;
  /** The files that `@` offers, relative to the workspace, with `/`. */
  readonly files?: readonly string[] | undefined;
}

/** The open completion list. */
export interface Menu {
  readonly items: readonly CompletionItem[];
  readonly selected: number;
}
