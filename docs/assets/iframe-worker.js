// SPDX-License-Identifier: Apache-2.0
// The site's search is a worker, and browsers start none from a page of file://. There a hidden
// frame runs the worker's script; theme and configuration know this remedy by the file's name.

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const scope = this.frame.contentWindow;
    scope.document.open();
    scope.document.write("<!doctype html><html><body></body></html>");
    scope.document.close();
    scope.postMessage = (data) => this.deliver(data, (event) => this.receive(event));
    scope.importScripts = (...urls) =>
      urls.reduce((done, each) => done.then(() => this.load(each)), Promise.resolve());
    this.loaded = this.load(url);
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`cannot load ${url}`));
      this.frame.contentDocument.body.append(script);
    });
  }

  // As between threads: a copy, and later.
  deliver(data, receive) {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    setTimeout(receive, 0, event);
  }

  receive(event) {
    this.dispatchEvent(event);
    if (this.onmessage) this.onmessage(event);
  }

  postMessage(data) {
    const scope = this.frame.contentWindow;
    const receive = (event) => this.loaded.then(() => scope.dispatchEvent(event));
    this.deliver(data, receive);
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
