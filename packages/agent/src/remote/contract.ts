import type { FilePart, FormQuestion, Item, JsonValue, MediaPart, Stop } from '@millrace/core';
import type { FormAnswer } from '../contract/tool.ts';

/** Something that a remote agent does while it works on a message. */
export type RemoteEvent =
  /** A piece of text or reasoning. A piece with another `message` starts a new part. */
  | {
      readonly type: 'text' | 'reasoning';
      readonly text: string;
      readonly message?: string | undefined;
      /** Data about the message that the next requests need. The first piece has it. Default: none. */
      readonly state?: JsonValue | undefined;
    }
  | { readonly type: 'file'; readonly part: MediaPart | FilePart }
  /** The remote agent calls one of its own tools. */
  | {
      readonly type: 'call';
      readonly id: string;
      readonly name: string;
      readonly input: JsonValue;
    }
  /** Output of a call that still runs. */
  | { readonly type: 'progress'; readonly id: string; readonly text: string }
  | {
      readonly type: 'result';
      readonly id: string;
      readonly text: string;
      readonly isError: boolean;
      readonly attachments?: readonly (MediaPart | FilePart)[] | undefined;
    }
  /** A question for the user. The remote agent waits until `answer` is called. */
  | {
      readonly type: 'question';
      /** The call that the question is about. Default: none. */
      readonly call?: string | undefined;
      readonly form: FormQuestion;
      readonly answer: (answer: FormAnswer) => void;
    }
  /** A value that the next request to the remote agent needs, for example the id of its session. */
  | { readonly type: 'memory'; readonly value: JsonValue }
  /** The last event. */
  | { readonly type: 'end'; readonly stop: Stop; readonly problem?: string | undefined };

/** A message for a remote agent. */
export interface RemoteRequest {
  /** The id of our session. */
  readonly session: string;
  /** All items of the session. */
  readonly items: readonly Item[];
  /** The new messages of the user. */
  readonly message: readonly Item[];
  /** The value of the last event `memory` of this session. Default: none. */
  readonly memory: JsonValue | undefined;
  /** Aborts when the run stops. The remote agent has to stop then. */
  readonly signal: AbortSignal;
}

/** A remote agent, as the implementation of its protocol offers it to the loop. */
export interface RemotePeer {
  /** The name of the protocol, for example `acp`. */
  readonly protocol: string;
  /** The name of the remote agent. */
  readonly name: string;
  /**
   * Values that must never be on the log, such as the token of the connection. They are removed from errors, ids,
   * names and questions of the remote agent. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  /** Sends a message. The last event is `end`. If it throws, the run fails with the error. */
  send(request: RemoteRequest): AsyncIterable<RemoteEvent>;
}
