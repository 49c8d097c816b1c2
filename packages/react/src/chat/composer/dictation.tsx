import { type ReactNode, useEffect, useRef, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { icon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';

/** The members of the browser's `SpeechRecognition` that the button uses. */
interface Recognition extends EventTarget {
  lang: string;
  continuous: boolean;
  start(): void;
  /** Ends the recording. The words until now are still recognized. */
  stop(): void;
  /** Ends the recording, and discards the words that are not recognized yet. */
  abort(): void;
}

interface RecognizedEvent extends Event {
  readonly resultIndex: number;
  readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }>>;
}

interface DictationProps {
  readonly isDisabled: boolean;
  /** True if the field has no text. */
  readonly isEmpty: boolean;
  /** Called with the words that the user said. */
  readonly onWords: (words: string) => void;
  /** Called with a text for the user if the browser cannot record or recognize speech. */
  readonly onError: (text: string) => void;
}

/**
 * The button with which the user speaks a message instead of typing it. The browser records and recognizes the words, and some browsers send the
 * recording to a service of their vendor.
 */
export function DictationButton(props: DictationProps): ReactNode {
  const t = useLabels();
  const [current, setCurrent] = useState<Recognition>();
  const latest = useRef(props);
  latest.current = props;
  const { isDisabled, isEmpty } = props;
  // The browser must not record after the page has removed the button.
  useEffect(() => () => current?.abort(), [current]);
  // An empty field means that the message was sent. Later words would be in the next message.
  useEffect(() => {
    if (isEmpty || isDisabled) return () => {};
    return () => setCurrent(undefined);
  }, [isEmpty, isDisabled]);
  const start = () => {
    const recognition = newRecognition();
    if (recognition === undefined) return;
    recognition.lang = t.locale;
    recognition.continuous = true;
    recognition.addEventListener('result', (event) => {
      const { results, resultIndex } = event as RecognizedEvent;
      const words = Array.from(results).slice(resultIndex);
      latest.current.onWords(words.map((one) => one[0]?.transcript.trim() ?? '').join(' '));
    });
    recognition.addEventListener('error', (event) => {
      const { error } = event as Event & { readonly error: string };
      if (error === 'no-speech' || error === 'aborted') return;
      const isRefused = error === 'not-allowed' || error === 'service-not-allowed';
      latest.current.onError(isRefused ? t.microphoneRefused : t.dictationFailed(error));
    });
    recognition.addEventListener('end', () =>
      setCurrent((now) => (now === recognition ? undefined : now)),
    );
    recognition.start();
    setCurrent(recognition);
  };
  return (
    <IconButton
      look={current === undefined ? 'quiet' : 'danger'}
      label={current === undefined ? t.dictate : t.stopDictation}
      disabled={isDisabled}
      onClick={() => (current === undefined ? start() : current.stop())}
    >
      <MicrophoneIcon />
    </IconButton>
  );
}

function newRecognition(): Recognition | undefined {
  const found = globalThis as unknown as Record<string, (new () => Recognition) | undefined>;
  // Chromium and Safari have only the name with a prefix.
  const Class = found['SpeechRecognition'] ?? found['webkitSpeechRecognition'];
  return Class && new Class();
}

const MicrophoneIcon = icon(
  <>
    <rect x="6" y="2" width="4" height="7.5" rx="2" />
    <path d="M3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2" />
  </>,
);
