// Receives the source of a React component from the page, compiles it, and renders it. The bundler puts
// React and the compiler into this file. The source runs as a script of its own, because the policy of the
// frame allows no `eval`.
import * as React from 'react';
import * as jsxRuntime from 'react/jsx-runtime';
import * as ReactDom from 'react-dom';
import { createRoot } from 'react-dom/client';
import { transform } from 'sucrase';

// WebRTC opens connections that no content security policy stops.
for (const name of Object.getOwnPropertyNames(globalThis))
  if (/rtc/i.test(name)) delete globalThis[name];

const modules = {
  react: React,
  'react-dom': ReactDom,
  'react-dom/client': { createRoot },
  'react/jsx-runtime': jsxRuntime,
  'react/jsx-dev-runtime': jsxRuntime,
};

addEventListener('message', ({ data, source }) => {
  if (source === parent && typeof data?.text === 'string') start(data);
});
parent.postMessage({ frame: 'ready' }, '*');

function start({ text, isDark }) {
  // Without it, the browser gives the frame a white background on a dark page.
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light';
  try {
    const transforms = ['jsx', 'typescript', 'imports'];
    const { code } = transform(text, { transforms, jsxRuntime: 'automatic', production: true });
    run(code);
  } catch (error) {
    report(error);
  }
}

/** Runs the compiled code. It exports a component, or names it `App`. */
function run(code) {
  globalThis.startComponent = (body) => {
    delete globalThis.startComponent;
    const module = { exports: {} };
    try {
      const named = body(load, module, module.exports, React);
      render(module.exports.default ?? Object.values(module.exports)[0] ?? named);
    } catch (error) {
      report(error);
    }
  };
  const found = "typeof App === 'function' ? App : undefined";
  const body = `startComponent(function (require, module, exports, React) {\n${code}\nreturn ${found};\n});`;
  const script = document.createElement('script');
  script.src = `data:text/javascript;charset=utf-8,${encodeURIComponent(body.toWellFormed())}`;
  script.onerror = () => report(new Error('The code cannot start'));
  document.head.append(script);
}

function load(name) {
  if (Object.hasOwn(modules, name)) return modules[name];
  throw new Error(`The package ${name} is not available here. Only react and react-dom are`);
}

function render(component) {
  if (typeof component !== 'function')
    throw new Error('The code exports no component. Export one as default, or name it App');
  const options = { onUncaughtError: report };
  createRoot(document.querySelector('#root'), options).render(React.createElement(component));
}

addEventListener('error', ({ error, message }) => report(error ?? new Error(message)));

/** Shows an error in place of the component. */
function report(error) {
  const text = document.createElement('p');
  text.className = 'problem';
  text.textContent = String(error?.message ?? error).slice(0, 2000);
  document.body.replaceChildren(text);
}
