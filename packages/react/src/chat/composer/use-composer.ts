import type { Attachment, TaskHandle } from '@millrace/client';
import { useEffect, useState } from 'react';
import { useLabels } from '../../labels/use-labels.ts';
import { errorText } from '../state/error-text.ts';
import { drafts, useDraft } from './draft.ts';
import { type PickedFile, pickedFiles, usePickedFiles } from './picked-files.ts';

/**
 * Decides when the agent reads a message that the user sends during a run. `steer`: with its next request.
 * `follow_up`: when the run would otherwise end.
 */
export type SendWhen = 'steer' | 'follow_up';

/** The task that receives the files of a message. */
export type UploadTarget = Pick<TaskHandle, 'id' | 'upload'>;

/** A message that the user wants to send. */
export interface ComposedMessage {
  readonly text: string;
  readonly when: SendWhen;
  /** The files of the message, for applications that send them in their own way. */
  readonly files: readonly File[];
  /** Uploads the files of the message to a task. Rejects if a file cannot be uploaded. */
  readonly upload: (to: UploadTarget) => Promise<readonly Attachment[]>;
}

/** Options of `useComposer`. */
export interface ComposerOptions {
  /** The key under which the draft is stored. */
  readonly draftKey: string;
  /** True if a run is in progress. Default: false. */
  readonly isRunning?: boolean | undefined;
  /** True while the last message is being sent. Default: false. */
  readonly isBusy?: boolean | undefined;
  /** Sends the message. The text and the files stay in the field until the promise resolves. */
  readonly onSend: (message: ComposedMessage) => Promise<unknown>;
}

/** The state of a field for messages, and what the user can do with it. */
export interface ComposerState {
  readonly text: string;
  /** Changes the text. */
  readonly setText: (text: string) => void;
  readonly files: readonly PickedFile[];
  /** Adds files. The error says why a file was refused. */
  readonly addFiles: (files: readonly File[]) => void;
  /** Removes the file with this key. */
  readonly removeFile: (key: number) => void;
  /** True if there is nothing to send. */
  readonly isEmpty: boolean;
  readonly isBusy: boolean;
  readonly error: string | undefined;
  /** Sends the message. Default: it waits for the end of the run. */
  readonly send: (when?: SendWhen) => void;
  /** Runs a command of the user, such as to stop the run, and shows its error in the field. */
  readonly run: (command: () => Promise<unknown>) => void;
}

/**
 * Keeps the text and the files of a message until the message is accepted. The hook renders nothing, so an
 * application can draw its own field.
 */
export function useComposer(options: ComposerOptions): ComposerState {
  const t = useLabels();
  const { draftKey, isRunning = false, isBusy: isBlocked = false, onSend } = options;
  const [text, setText] = useDraft(draftKey);
  const files = usePickedFiles(draftKey);
  const [isUploading, setUploading] = useState(false);
  const [error, setError] = useState<string>();
  const isBusy = isBlocked || isUploading;
  const isEmpty = text.trim() === '' && files.length === 0;
  // When the run state or the draft changes, the error is out of date.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these values trigger the reset
  useEffect(() => setError(undefined), [isRunning, draftKey]);
  const run = (command: () => Promise<unknown>) =>
    void command().then(
      () => setError(undefined),
      (reason: unknown) => setError(errorText(reason, t)),
    );
  const send = (when: SendWhen = 'follow_up') => {
    if (isEmpty || isBusy) return;
    const upload = (to: UploadTarget) =>
      pickedFiles.upload(draftKey, to.id, (_task, file) => to.upload(file, { name: file.name }), t);
    setUploading(files.length > 0);
    const message = { text: text.trim(), when, files: files.map(({ file }) => file), upload };
    const accepted = onSend(message).finally(() => setUploading(false));
    const clear = () => {
      pickedFiles.removeSent(draftKey, files);
      // If the user has typed other text meanwhile, it is a new message and stays.
      if (drafts.read(draftKey) === text) setText('');
    };
    run(() => accepted.then(clear));
  };
  const addFiles = (picked: readonly File[]) => {
    if (isBusy) return;
    const refused = pickedFiles.add(draftKey, picked, t);
    setError(refused.length === 0 ? undefined : refused.join(' '));
  };
  const removeFile = (key: number) => pickedFiles.remove(draftKey, key);
  return { text, setText, files, addFiles, removeFile, isEmpty, isBusy, error, send, run };
}
