// SPDX-License-Identifier: Apache-2.0
// Drives a server with the JavaScript client: objects, server-side apply, custom resources, an informer. KUBECONFIG says where.
// Speaks TAP.
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const namespace = `node-${process.pid}`;
const group = `n${process.pid}.example.com`;

let count = 0;
let failed = 0;
async function test(name, run) {
  count += 1;
  try {
    await run();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${count} - ${name}`);
    console.log(String(error.stack ?? error).replace(/^/gm, '# '));
  }
}

function equal(got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`got ${g}, want ${w}`);
}

async function refused(code, promise) {
  try {
    await promise;
  } catch (error) {
    equal(error.code, code);
    return;
  }
  throw new Error(`not refused, want ${code}`);
}

async function eventually(condition) {
  for (let i = 0; i < 600; i += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('did not happen within half a minute');
}

const map = (name, data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data });

await test('a namespace', async () => {
  const made = await core.createNamespace({ body: { metadata: { name: namespace } } });
  equal(made.status.phase, 'Active');
});

await test('create, read, replace, delete', async () => {
  const made = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' }, data: { k: '1' } } });
  equal(made.data, { k: '1' });
  made.data.k = '2';
  const replaced = await core.replaceNamespacedConfigMap({ name: 'a', namespace, body: made });
  equal(replaced.data, { k: '2' });
  await refused(409, core.replaceNamespacedConfigMap({ name: 'a', namespace, body: made }));
  equal((await core.readNamespacedConfigMap({ name: 'a', namespace })).metadata.resourceVersion, replaced.metadata.resourceVersion);
  await core.deleteNamespacedConfigMap({ name: 'a', namespace });
  await refused(404, core.readNamespacedConfigMap({ name: 'a', namespace }));
});

await test('lists with selectors and pages', async () => {
  for (const n of [1, 2, 3]) {
    const metadata = { name: `p${n}`, labels: { page: 'yes' } };
    await core.createNamespacedConfigMap({ namespace, body: { metadata } });
  }
  const first = await core.listNamespacedConfigMap({ namespace, labelSelector: 'page=yes', limit: 2 });
  equal(first.items.map((o) => o.metadata.name), ['p1', 'p2']);
  const rest = await core.listNamespacedConfigMap({
    namespace, labelSelector: 'page=yes', limit: 2, _continue: first.metadata._continue,
  });
  equal(rest.items.map((o) => o.metadata.name), ['p3']);
});

await test('the object API finds kinds by discovery', async () => {
  const made = await objects.create(map('dyn', { a: '1' }));
  equal(made.kind, 'ConfigMap');
  const patched = await objects.patch(map('dyn', { b: '2' }), undefined, undefined, 'node', undefined, k8s.PatchStrategy.MergePatch);
  equal(patched.data, { a: '1', b: '2' });
  const list = await objects.list('v1', 'ConfigMap', namespace);
  equal(list.items.some((o) => o.metadata.name === 'dyn'), true);
  await objects.delete(map('dyn'));
});

await test('server-side apply', async () => {
  const apply = (data, manager, force) =>
    objects.patch(map('ssa', data), undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
  await apply({ a: '1' }, 'one');
  await refused(409, apply({ a: '2' }, 'two'));
  equal((await apply({ a: '2' }, 'two', true)).data, { a: '2' });
});

await test('an informer sees everything once', async () => {
  const seen = [];
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace }));
  for (const verb of ['add', 'update', 'delete'])
    informer.on(verb, (o) => o.metadata.name.startsWith('inf') && seen.push(`${verb} ${o.metadata.name} ${o.data?.v ?? ''}`));
  const body = (name, v) => ({ metadata: { name }, data: { v } });
  await core.createNamespacedConfigMap({ namespace, body: body('inf0', '0') });
  await informer.start();
  await core.createNamespacedConfigMap({ namespace, body: body('inf1', '1') });
  await core.replaceNamespacedConfigMap({ name: 'inf1', namespace, body: body('inf1', '2') });
  await core.deleteNamespacedConfigMap({ name: 'inf1', namespace });
  await eventually(() => seen.length >= 4);
  await informer.stop();
  equal(seen, ['add inf0 0', 'add inf1 1', 'update inf1 2', 'delete inf1 2']);
});

await test('custom resources', async () => {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { n: { type: 'integer' } } } } } };
  await extensions.createCustomResourceDefinition({
    body: {
      metadata: { name: `things.${group}` },
      spec: { group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions: [{ name: 'v1', served: true, storage: true, schema }] },
    },
  });
  const place = { group, version: 'v1', namespace, plural: 'things' };
  const thing = (name, n) => ({ apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, spec: { n } });
  await eventually(() => custom.createNamespacedCustomObject({ ...place, body: thing('t', 1) }).then(() => true, (e) => e.code === 409));
  await refused(422, custom.createNamespacedCustomObject({ ...place, body: thing('u', 'x') }));
  const list = await custom.listNamespacedCustomObject(place);
  equal(list.items.map((o) => o.spec.n), [1]);
  await custom.deleteNamespacedCustomObject({ ...place, name: 't' });
  await extensions.deleteCustomResourceDefinition({ name: `things.${group}` });
});

await test('refusals are told apart', async () => {
  await refused(404, core.createNamespacedConfigMap({ namespace: 'no-such-namespace', body: { metadata: { name: 'x' } } }));
  await refused(422, core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'Bad_Name' } } }));
  await refused(409, core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'p1' } } }));
});

await core.deleteNamespace({ name: namespace });
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
