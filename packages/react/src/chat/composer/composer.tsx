import {
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useSyncExternalStore,
} from 'react';
import { Button, IconButton } from '../../design/button.tsx';
import { SendIcon, StopIcon } from '../../design/icons.tsx';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { FilePicker, useFileDrop } from './file-picker.tsx';
import { type ComposerSuggestions, useSuggestions } from './suggestions.tsx';
import { type ComposerOptions, useComposer } from './use-composer.ts';
import './composer.css';

// The code for file chips is loaded on demand, because most messages have no files.
const FileChips = lazyView(async () => (await import('./file-chips.tsx')).FileChips);

// This code is loaded on demand too, because some browsers do not recognize speech. If it cannot be
// loaded, the field has no button for it.
const DictationButton = lazy(() =>
  import('./dictation.tsx').then(
    ({ DictationButton: Button }) => ({ default: Button }),
    () => ({ default: () => null }),
  ),
);

/** The properties of `Composer`. */
export interface ComposerProps extends ComposerOptions, ComposerSuggestions {
  readonly placeholder: string;
  /** True if a message that is sent during a run can join the next model request. */
  readonly canSteer?: boolean;
  /** False if messages cannot have files. Default: true. */
  readonly canAttach?: boolean | undefined;
  /** Stops the run. Default: there is no button for it. */
  readonly onStop?: (() => Promise<unknown>) | undefined;
  /** True if Escape in the field stops the run. Default: false, for pages with keys of their own. */
  readonly stopsWithEscape?: boolean | undefined;
  readonly children?: ReactNode;
  /** The field receives the focus whenever this value changes. */
  readonly focusKey?: string | undefined;
}

/**
 * The field and the buttons to write and send a message. The text stays in the field until the
 * server has accepted the message.
 */
export function Composer(props: ComposerProps) {
  const t = useLabels();
  const { placeholder, isRunning = false, canSteer = false, canAttach = true } = props;
  const { onStop, stopsWithEscape = false, focusKey } = props;
  const composer = useComposer(props);
  const { text, setText, files, removeFile, isEmpty, isBusy, error, send, run } = composer;
  const { commands, mentions } = props;
  const suggestions = useSuggestions({ text, setText, commands, mentions });
  // A server that renders the page cannot recognize speech, so the first rendering has no button for it.
  const canSpeak = useSyncExternalStore(subscribeNever, hasSpeech, () => false);
  const form = useRef<HTMLFormElement>(null);
  const hintId = useId();
  const input = useRef<HTMLTextAreaElement>(null);
  // On a phone, the field does not get the focus. The on-screen keyboard would open and hide half
  // of the page.
  useEffect(() => {
    if (focusKey !== undefined && !matchMedia('(pointer: coarse)').matches) input.current?.focus();
  }, [focusKey]);
  const addFiles = (picked: readonly File[]) => {
    if (!canAttach) return;
    composer.addFiles(picked);
    input.current?.focus();
  };
  useFileDrop(form, addFiles);
  const onKeyDown = (event: KeyboardEvent) => {
    if (suggestions.onKey(event)) return;
    if (event.key === 'Escape' && stopsWithEscape && isRunning && onStop) {
      event.preventDefault();
      run(onStop);
    }
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
        {suggestions.list}
        {files.length > 0 && (
          <Suspense fallback={null}>
            <FileChips files={files} onRemove={removeFile} />
          </Suspense>
        )}
        <textarea
          ref={input}
          rows={1}
          value={text}
          dir="auto"
          readOnly={isBusy}
          placeholder={placeholder}
          aria-label={t.message}
          aria-describedby={hintId}
          {...suggestions.field}
          onChange={({ target }) => {
            setText(target.value);
            suggestions.onCursor(target.selectionStart);
          }}
          onSelect={({ currentTarget }) => suggestions.onCursor(currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (pasted.length === 0 || !canAttach) return;
            event.preventDefault();
            addFiles(pasted);
          }}
        />
        <div className="composer-bar">
          {canAttach && <FilePicker isDisabled={isBusy} onFiles={addFiles} />}
          {canSpeak && (
            <Suspense fallback={<span className="composer-speech" />}>
              <DictationButton
                isDisabled={isBusy}
                isEmpty={text === ''}
                onWords={(words) => setText(text === '' ? words : `${text.trimEnd()} ${words}`)}
                onError={(problem) => run(() => Promise.reject(new Error(problem)))}
              />
            </Suspense>
          )}
          <div className="composer-more">{props.children}</div>
          {/* The buttons of a run are new elements, so that nothing shifts when they appear. */}
          <div key={String(isRunning)} className="composer-send">
            {isRunning && onStop && (
              <Button look="danger" onClick={() => run(onStop)}>
                <StopIcon /> {t.stop}
              </Button>
            )}
            {isRunning && canSteer && (
              <Button
                disabled={isEmpty || isBusy}
                title={t.steerHint}
                onClick={() => send('steer')}
              >
                {t.steer}
              </Button>
            )}
            {isRunning && canSteer ? (
              <Button look="main" type="submit" disabled={isEmpty || isBusy} title={t.queueHint}>
                {t.queue}
              </Button>
            ) : (
              <IconButton look="main" type="submit" label={t.send} disabled={isEmpty || isBusy}>
                <SendIcon />
              </IconButton>
            )}
          </div>
        </div>
      </div>
      <p className="composer-hint" id={hintId}>
        {isBusy ? t.sending : hintFor(isRunning, canSteer, t)}
      </p>
    </form>
  );
}

function hintFor(isRunning: boolean, canSteer: boolean, t: Labels): string {
  if (!isRunning) return t.sendKeys;
  return canSteer ? t.runKeys : t.queueKeys;
}

const subscribeNever = () => () => {};

function hasSpeech(): boolean {
  return 'SpeechRecognition' in globalThis || 'webkitSpeechRecognition' in globalThis;
}
