import type { Provider } from '@millrace/providers';
import type { ClientToolResult, RunInput } from '../contract/run.ts';

/** A place in a session, and what is different from there on. */
export interface SessionBranch {
  /**
   * The offset of the record to continue from. The branch has all records up to this one. The record can be
   * part of a message, of an answer or of a tool call.
   */
  readonly at: number;
  /** The id of the branch. Default: a new session id. */
  readonly into?: string | undefined;
  /**
   * A new message. If the record belongs to a message, the input replaces that message. If the record is
   * inside of an answer, the branch keeps the text up to the record, and the input follows. Otherwise the
   * input joins the next request. Default: none.
   */
  readonly input?: RunInput | undefined;
  /**
   * Results that replace the recorded ones, by the ids of the calls. The calls belong to the turn of the
   * record. Default: none.
   */
  readonly results?: Readonly<Record<string, ClientToolResult>> | undefined;
  /**
   * The calls of the turn that run again, by the name of the tool or the id of the call. All other calls keep
   * their recorded results. Default: no call runs again.
   */
  readonly rerun?: readonly string[] | undefined;
  /** Instructions that replace those of the agent. The log keeps them. Default: the agent's instructions. */
  readonly instructions?: string | undefined;
  /**
   * A provider that replaces the provider of the agent. A process that resumes the branch later needs an agent
   * with this provider, because the log keeps only the name of the model. Default: the agent's provider.
   */
  readonly provider?: Provider | undefined;
  /**
   * The name of the model of the branch. The log keeps it, and `prepareStep` of the agent receives it as `model`.
   * Default: the model of `provider`.
   */
  readonly model?: string | undefined;
}
