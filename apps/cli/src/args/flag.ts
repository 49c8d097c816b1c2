import type { HelpTopic } from '../contract/args.ts';

/**
 * The command to which a flag belongs. `run` is the chat. `print` is the chat command with `-p`.
 */
export type FlagOwner = 'run' | 'print' | HelpTopic;

export interface Flag {
  readonly short?: string;
  /**
   * The placeholder for the value in the help text. `<…>` means a required value, and `[…]` an
   * optional one. Undefined if the flag takes no value.
   */
  readonly value?: string;
  /** Different placeholders for some commands. */
  readonly valueByOwner?: Partial<Record<FlagOwner, string>>;
  readonly owners: readonly FlagOwner[];
  /** The description in the help text. */
  readonly help: string;
  /** Different descriptions for some commands. */
  readonly helpByOwner?: Partial<Record<FlagOwner, string>>;
}
