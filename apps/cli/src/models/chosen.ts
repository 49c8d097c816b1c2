import type { RequestOptions } from '@millrace/agent';
import type { Provider } from '@millrace/providers';

/** The model that answers, and why it is this one. */
export interface Chosen {
  readonly provider: Provider;
  /** For the status line: `anthropic/claude-sonnet-5-5`. */
  readonly label: string;
  /** One sentence for people. No key is in it. */
  readonly why: string;
  readonly isDemo: boolean;
  /** How much it can be sent at once, where that is known. */
  readonly contextTokens?: number | undefined;
  /** What its configuration asks for in each request. */
  readonly request?: Pick<RequestOptions, 'reasoning' | 'maxOutputTokens'> | undefined;
}
