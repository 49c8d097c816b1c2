/** One item of a completion list. */
export interface CompletionItem {
  readonly kind: 'command' | 'argument' | 'file' | 'folder';
  /** The text of the item in the list, such as `/model` or `src/main.ts`. */
  readonly label: string;
  readonly description?: string | undefined;
  /** The text that replaces the typed text. */
  readonly insert: string;
  /**
   * If true, Enter inserts the item and sends the prompt immediately, because no further input is
   * needed.
   */
  readonly isComplete: boolean;
}

/** The possible completions at the cursor. */
export interface Completions {
  /** The start of the typed text that an item replaces. `end` is its end. */
  readonly start: number;
  readonly end: number;
  /** The items, best match first. Never empty. */
  readonly items: readonly CompletionItem[];
}

/** A value that a command accepts, such as the name of a model. */
export interface Choice {
  readonly value: string;
  readonly description?: string | undefined;
}

/** A slash command. */
export interface Command {
  /** Name of the command, with its slash. */
  readonly name: string;
  readonly description: string;
  /**
   * Returns the possible arguments. It is called each time, because the list can change. Undefined
   * if the command has no list of arguments.
   */
  readonly choices?: (() => readonly Choice[]) | undefined;
  /**
   * True if the command takes an argument that cannot be listed. In this case, Enter inserts the
   * command but does not send it.
   */
  readonly takesText?: boolean | undefined;
  /** True if a shorter name means the same. The list then has this name only after a `:`. Default: false. */
  readonly isAlias?: boolean | undefined;
}

export interface CompletionSources {
  readonly commands?: readonly Command[] | undefined;
  /** The files that `@` offers, as paths relative to the workspace, with `/` as the separator. */
  readonly files?: readonly string[] | undefined;
}

/** The open completion list. */
export interface Menu {
  readonly items: readonly CompletionItem[];
  readonly selected: number;
}
