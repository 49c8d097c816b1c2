import type { Attachment } from '@millrace/client';
import {
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useApp } from '../../app/app-context.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { SendIcon, StopIcon } from '../../design/icons.tsx';
import { errorText } from '../../server/api.ts';
import { drafts, useDraft } from './draft.ts';
import { FilePicker, useFileDrop } from './file-picker.tsx';
import { pickedFiles, usePickedFiles } from './picked-files.ts';
import './composer.css';

// Most messages have no files.
const FileChips = lazy(async () => ({ default: (await import('./file-chips.tsx')).FileChips }));

type SendWhen = 'steer' | 'follow_up';

/** A message that the user wants to send. */
export interface ComposedMessage {
  readonly text: string;
  readonly when: SendWhen;
  /** Uploads the files of the message for a task. Rejects if a file cannot be uploaded. */
  readonly upload: (task: string) => Promise<readonly Attachment[]>;
}

interface ComposerProps {
  /** The key under which the draft is stored. */
  readonly draftKey: string;
  readonly placeholder: string;
  readonly isRunning?: boolean;
  /** True if a message that is sent during a run can join the next model request. */
  readonly canSteer?: boolean;
  /** True while the last message is being sent. The field is read-only until then. */
  readonly isBusy?: boolean | undefined;
  /** Sends the message. The text and the files stay in the field until the promise resolves. */
  readonly onSend: (message: ComposedMessage) => Promise<void>;
  readonly onStop?: (() => Promise<void>) | undefined;
  readonly children?: ReactNode;
  /** The field receives the focus whenever this value changes. */
  readonly focusKey?: string | undefined;
}

/**
 * The field and the buttons to write and send a message. The text stays in the field until the
 * message was accepted.
 */
export function Composer(props: ComposerProps) {
  const {
    draftKey,
    placeholder,
    isRunning = false,
    canSteer = false,
    isBusy: isBlocked = false,
    onStop,
    focusKey,
  } = props;
  const { sources } = useApp();
  const [text, setText] = useDraft(draftKey);
  const files = usePickedFiles(draftKey);
  const [isUploading, setUploading] = useState(false);
  const isBusy = isBlocked || isUploading;
  const form = useRef<HTMLFormElement>(null);
  const [error, setError] = useState<string>();
  const hintId = useId();
  const input = useRef<HTMLTextAreaElement>(null);
  // The field does not get the focus on a phone, because the keyboard would open and hide half of
  // the page.
  useEffect(() => {
    if (focusKey !== undefined && !matchMedia('(pointer: coarse)').matches) input.current?.focus();
  }, [focusKey]);
  const isEmpty = text.trim() === '' && files.length === 0;
  // When the run state or the draft changes, the error is out of date.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these values trigger the reset
  useEffect(() => setError(undefined), [isRunning, draftKey]);
  const showErrorOf = (work: Promise<void>) =>
    void work.then(
      () => setError(undefined),
      (reason: unknown) => setError(errorText(reason)),
    );
  const send = (when: SendWhen) => {
    if (isEmpty || isBusy) return;
    const upload = (task: string) =>
      pickedFiles.upload(draftKey, task, (id, file) =>
        sources.get(id).handle.upload(file, { name: file.name }),
      );
    setUploading(files.length > 0);
    const accepted = props
      .onSend({ text: text.trim(), when, upload })
      .finally(() => setUploading(false));
    const clear = () => {
      pickedFiles.removeSent(draftKey, files);
      // If the user has typed other text meanwhile, it is a new message and stays.
      if (drafts.read(draftKey) === text) setText('');
    };
    showErrorOf(accepted.then(clear));
  };
  const addFiles = (picked: readonly File[]) => {
    if (isBusy) return;
    const refused = pickedFiles.add(draftKey, picked);
    setError(refused.length === 0 ? undefined : refused.join(' '));
    input.current?.focus();
  };
  useFileDrop(form, addFiles);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    const isSteerKey = event.ctrlKey || event.metaKey;
    send(isRunning && canSteer && isSteerKey ? 'steer' : 'follow_up');
  };
  return (
    <form
      ref={form}
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send('follow_up');
      }}
    >
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
      <div className="composer-box">
        {files.length > 0 && (
          <Suspense fallback={null}>
            <FileChips files={files} onRemove={(key) => pickedFiles.remove(draftKey, key)} />
          </Suspense>
        )}
        <textarea
          ref={input}
          rows={1}
          value={text}
          dir="auto"
          readOnly={isBusy}
          placeholder={placeholder}
          aria-label="Message"
          aria-describedby={hintId}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (pasted.length === 0) return;
            event.preventDefault();
            addFiles(pasted);
          }}
        />
        <div className="composer-bar">
          <FilePicker isDisabled={isBusy} onFiles={addFiles} />
          <div className="composer-more">{props.children}</div>
          {isRunning && onStop && (
            <Button look="danger" onClick={() => showErrorOf(onStop())}>
              <StopIcon /> Stop
            </Button>
          )}
          {isRunning && canSteer && (
            <Button
              disabled={isEmpty || isBusy}
              title="The message joins the next request (Ctrl+Enter)"
              onClick={() => send('steer')}
            >
              Steer
            </Button>
          )}
          {isRunning && canSteer ? (
            <Button
              look="main"
              type="submit"
              disabled={isEmpty || isBusy}
              title="The message waits until the run ends (Enter)"
            >
              Queue
            </Button>
          ) : (
            <IconButton look="main" type="submit" label="Send" disabled={isEmpty || isBusy}>
              <SendIcon />
            </IconButton>
          )}
        </div>
      </div>
      <p className="composer-hint" id={hintId}>
        {isBusy ? 'Sending …' : hintFor(isRunning, canSteer)}
      </p>
    </form>
  );
}

function hintFor(isRunning: boolean, canSteer: boolean): string {
  if (!isRunning) return 'Enter sends, Shift+Enter adds a line';
  return canSteer
    ? 'Enter queues, Ctrl+Enter steers the run, Esc stops it'
    : 'The agent answers messages in order; Esc stops it';
}
