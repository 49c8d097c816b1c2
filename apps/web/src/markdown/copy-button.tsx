import { useEffect, useState } from 'react';
import { IconButton } from '../design/button.tsx';
import { CheckIcon, CopyIcon } from '../design/icons.tsx';

const shownMs = 1500;

export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), shownMs);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    // Off https and localhost there is no clipboard.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject();
    void written.then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  const words = { ready: label, copied: 'Copied', failed: 'Cannot copy here' };
  return (
    <IconButton size="small" label={words[state]} onClick={copy}>
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
    </IconButton>
  );
}
