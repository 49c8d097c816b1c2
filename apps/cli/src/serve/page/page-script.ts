/** It runs in a browser, as it is: text goes into the page as text only. */
export const pageScript = `const $ = (id) => document.getElementById(id);
let token = sessionStorage.getItem('token');
let current;
let watching = new AbortController();

function headers(more = {}) {
  return token === null ? more : { authorization: 'Bearer ' + token, ...more };
}

async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, headers: headers(options.headers) });
  if (response.status === 401) $('token').hidden = false;
  const body = await response.json();
  if (!response.ok) throw new Error(body.message ?? response.statusText);
  return body;
}

async function rpc(agent, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const path = '/agents/' + encodeURIComponent(agent.id) + '/rpc';
  const type = { 'content-type': 'application/json' };
  const { result, error } = await ask(path, { method: 'POST', headers: type, body });
  if (error) throw new Error(error.message);
  return result;
}

const tell = (text) => { $('state').textContent = text; };
const guarded = (work) => async (event) => {
  event?.preventDefault();
  try { await work(event); } catch (error) { tell(error.message); }
};

function entry(text, title, isCurrent, onClick) {
  const button = document.createElement('button');
  button.textContent = text;
  button.title = title;
  if (isCurrent) button.setAttribute('aria-current', 'true');
  button.addEventListener('click', guarded(onClick));
  const item = document.createElement('li');
  item.append(button);
  return item;
}

async function list() {
  const [agents, tasks] = await Promise.all([
    ask('/agents?limit=100'),
    ask('/tasks?limit=50&relationships=agents'),
  ]);
  $('agents').replaceChildren(...agents.map((agent) =>
    entry('+ ' + agent.name, agent.description, false, async () => {
      const task = await rpc(agent, 'task/create', {});
      open({ ...task, agents: [agent] });
      await list();
    })));
  $('tasks').replaceChildren(...tasks.map((task) => {
    const name = task.name ?? task.id.slice(0, 8);
    const text = (task.agents?.[0]?.name ?? '?') + ' · ' + name + ' · ' + task.status.toLowerCase();
    return entry(text, task.id, task.id === current?.id, async () => { open(task); await list(); });
  }));
}

/** What a message says so far, as text. */
function textOf(content) {
  switch (content.type) {
    case 'text': return content.content;
    case 'data': return JSON.stringify(content.data, null, 2);
    case 'reasoning': return [...content.summary, ...(content.content ?? [])].join('\\n');
    case 'tool_request': return content.name + ' ' + JSON.stringify(content.arguments);
    case 'tool_response': {
      const { content: result } = content;
      return typeof result === 'string' ? result : JSON.stringify(result, null, 2);
    }
    default: return '';
  }
}

function pieceOf(delta) {
  const name = Object.keys(delta ?? {}).find((key) => key.endsWith('_delta'));
  return name === undefined ? '' : delta[name];
}

function rowOf(message) {
  const known = [...$('messages').children].find((row) => row.dataset.id === message.id);
  if (known !== undefined) return known;
  const row = document.createElement('li');
  row.dataset.id = message.id;
  $('messages').append(row);
  return row;
}

function show(update) {
  const message = update.parent_task_message;
  if (update.type === 'task_updated') return tell(update.task?.status.toLowerCase() ?? 'gone');
  if (!message) return;
  const row = rowOf(message);
  if (update.type === 'start' || update.type === 'full') {
    const { content } = update;
    row.dataset.author = content.author;
    row.dataset.kind = content.type;
    const isCall = content.type === 'tool_request';
    row.textContent = isCall && update.type === 'start' ? content.name + ' ' : textOf(content);
    if (update.retracted) row.remove();
  }
  if (update.type === 'delta') row.append(pieceOf(update.delta));
  row.toggleAttribute('data-open', update.type === 'start' || update.type === 'delta');
  row.scrollIntoView({ block: 'nearest' });
}

/** Reads server-sent events; comes back with the last id, however the connection ended. */
async function watch(task, signal) {
  let last = '0';
  while (!signal.aborted) {
    try {
      const response = await fetch('/tasks/' + task.id + '/stream?view=updates', {
        headers: headers({ 'last-event-id': last }), signal,
      });
      if (!response.ok) throw new Error((await response.json()).message);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const frames = text.split('\\n\\n');
        text = frames.pop();
        for (const frame of frames) {
          const lines = frame.split('\\n');
          const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
          if (data.length > 0) show(JSON.parse(data.join('\\n')));
          const id = lines.find((line) => line.startsWith('id: '));
          if (id !== undefined) last = id.slice(4);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      tell('reconnecting: ' + error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function open(task) {
  watching.abort();
  watching = new AbortController();
  current = task;
  $('title').textContent = (task.agents?.[0]?.name ?? '') + ' · ' + (task.name ?? task.id);
  $('messages').replaceChildren();
  $('say').hidden = false;
  $('text').focus();
  void watch(task, watching.signal);
}

$('say').addEventListener('submit', guarded(async () => {
  const [agent] = current.agents;
  const content = { type: 'text', author: 'user', content: $('text').value };
  const method = agent.acp_type === 'sync' ? 'message/send' : 'event/send';
  $('text').value = '';
  await rpc(agent, method, { task_id: current.id, content });
  await list();
}));
$('text').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); $('say').requestSubmit(); }
});
$('stop').addEventListener('click', guarded(async () => {
  await rpc(current.agents[0], 'task/interrupt', { task_id: current.id });
}));
$('token').addEventListener('submit', guarded(async (event) => {
  token = new FormData(event.target).get('token');
  sessionStorage.setItem('token', token);
  $('token').hidden = true;
  await start();
}));

async function start() {
  await list();
  tell('ready');
}
void guarded(start)();
`;
