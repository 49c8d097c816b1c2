import { type ComponentType, createContext, lazy, useContext, useEffect, useReducer } from 'react';
import { Button } from '../design/button.tsx';
import { useLabels } from '../labels/use-labels.ts';
import './load-failure.css';

const RetryView = createContext<() => void>(() => {});

/**
 * Creates a component whose code loads when the component is shown for the first time. Until then, the
 * next `Suspense` shows its fallback. If the code cannot be loaded, the component shows a message, and
 * the next click of the user tries again. `lazy` of React would fail forever.
 */
export function lazyView<P extends object>(
  load: () => Promise<ComponentType<P>>,
): ComponentType<P> {
  const attempt = () => lazy(async () => ({ default: await load().catch(() => FailedView) }));
  const renew = () => {
    View = attempt();
  };
  // A component that is shown again later must not show an old failure.
  const FailedView: ComponentType = () => {
    useEffect(() => {
      const failed = View;
      return () => {
        if (View === failed) renew();
      };
    }, []);
    return <LoadFailure onRetry={useContext(RetryView)} />;
  };
  let View = attempt();
  return function LazyView(props: P) {
    const [, render] = useReducer((count: number) => count + 1, 0);
    const retry = () => {
      renew();
      render();
    };
    return (
      <RetryView value={retry}>
        <View {...props} />
      </RetryView>
    );
  };
}

/** The properties of `LoadFailure`. */
export interface LoadFailureProps {
  /** Called at the next click of the user, wherever it is. */
  readonly onRetry: () => void;
}

/** Tells the user that code of the page could not be loaded. */
export function LoadFailure({ onRetry }: LoadFailureProps) {
  const t = useLabels();
  // The user often clicks the same button again instead of the button in the message.
  useEffect(() => {
    const retry = () => {
      loadStyleSheetsAgain();
      onRetry();
    };
    document.addEventListener('click', retry, { once: true });
    return () => document.removeEventListener('click', retry);
  }, [onRetry]);
  return (
    <div className="load-failure" role="alert">
      <span>{t.partNotLoaded}</span>
      <Button size="small">{t.tryAgain}</Button>
      {/* Some browsers do not request a file again after a failure. */}
      <Button size="small" look="quiet" onClick={() => location.reload()}>
        {t.reloadThePage}
      </Button>
    </div>
  );
}

/** Requests all style sheets again that could not be loaded. The bundler requests each of them only once. */
function loadStyleSheetsAgain(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]'))
    if (link.sheet === null) link.replaceWith(link.cloneNode());
}
